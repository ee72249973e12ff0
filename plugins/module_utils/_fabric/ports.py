# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The unit that brings the cards' external ports up at every boot and after every reload of the driver. Pure text.

The vendor has a tool for it and no unit, and the ports are down after each load of the driver.
"""

from __future__ import annotations

from .._cards.hardware import HABANA_VENDOR
from .._node import unit_hardening
from .._node.rendered_files import WantedFile

UNIT = "gaudi3-scale-ports.service"
UNIT_FILE = f"systemd/system/{UNIT}"
RULE_FILE = "udev/rules.d/90-gaudi3-scale-ports.rules"
# The vendor's script is not ours: /sys, the cards' devices and registers, and the network are its trade.
_HARDENING = (
    *unit_hardening.ASKS_CARDS,
    "RestrictAddressFamilies=AF_PACKET",
    *unit_hardening.capability_lines(
        ["CAP_DAC_OVERRIDE", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_SYS_RAWIO"]
    ),
)


def tool(generation: str) -> str:
    """The vendor's tool, of the package habanalabs-qual."""
    return f"/opt/habanalabs/qual/{generation}/bin/manage_network_ifs.sh"


def unit_text(program: str) -> str:
    """A oneshot unit without RemainAfterExit: each new port may start it again, as often as ports appear."""
    hardening = "\n".join(_HARDENING)
    return f"""\
# Written by gaudi3.scale.
[Unit]
Description=External ports of the Gaudi cards
After=systemd-modules-load.service
ConditionPathExists={program}
StartLimitIntervalSec=0

[Service]
Type=oneshot
# The ports appear one by one; those still on their way would be missed.
ExecStartPre=-/usr/bin/udevadm settle --timeout=60
ExecStart={program} --up --no-progbar
TimeoutStartSec=300
{hardening}

[Install]
WantedBy=multi-user.target
"""


def rule_text() -> str:
    """The udev rule that starts the unit when the driver is loaded again."""
    return f"""\
# Written by gaudi3.scale.
ACTION=="add", SUBSYSTEM=="net", ATTRS{{vendor}}=="{HABANA_VENDOR}", TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{UNIT}"
"""


def wanted_files(etc: str, program: str | None) -> list[WantedFile]:
    """Unit and rule for ``program``; None: neither."""
    unit = None if program is None else unit_text(program)
    rule = None if program is None else rule_text()
    texts = {UNIT_FILE: unit, RULE_FILE: rule}
    return [WantedFile(f"{etc}/{file}", text, only_ours=True) for file, text in texts.items()]
