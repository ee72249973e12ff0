# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The proxy's systemd unit as text: the distribution's haproxy with a configuration of our own, beside the site's."""

from __future__ import annotations

from .._node.rendered_files import HEADING
from .._node.unit_hardening import (
    FILES,
    FOREIGN_CALLS,
    KERNEL,
    KERNEL_TUNABLES,
    NO_DEVICES,
    NO_NEW_PRIVILEGES,
    OTHER_PROCESSES,
    OWN_PROCESS,
    USUAL_ADDRESSES,
    capability_lines,
)
from .._node.unit_words import command_line
from .proxy import Places

UNIT = "gaudi3-scale-serving-proxy.service"
PROGRAM = "/usr/sbin/haproxy"
# It starts as root, reads its certificate and keys, opens its sockets and gives one to its account's group; then it is
# its account's.
_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_FOWNER", "CAP_NET_BIND_SERVICE", "CAP_KILL")
# What a request needs of descriptors: four, through both proxies.
DESCRIPTORS = 1 << 17


def unit_text(places: Places) -> str:
    check = [PROGRAM, "-c", "-q", "-f", places.configuration]
    lines = [
        HEADING,
        "[Unit]",
        "Description=gaudi3.scale proxy of models that are served",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStartPre={command_line(check)}",
        f"ExecStart={command_line([PROGRAM, '-Ws', '-f', places.configuration])}",
        f"ExecReload={command_line(check)}",
        # The old worker ends once its last request has; new ones come to the new worker.
        "ExecReload=/bin/kill -USR2 $MAINPID",
        "KillMode=mixed",
        "SuccessExitStatus=143",
        "Restart=always",
        "RestartSec=1",
        f"RuntimeDirectory={places.runtime.rpartition('/')[2]}",
        f"LimitNOFILE={DESCRIPTORS}",
        *NO_NEW_PRIVILEGES,
        *OWN_PROCESS,
        *KERNEL,
        *KERNEL_TUNABLES,
        *FILES,
        *OTHER_PROCESSES,
        *NO_DEVICES,
        USUAL_ADDRESSES,
        *FOREIGN_CALLS,
        *capability_lines(_CAPABILITIES),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(lines)
