# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An instance's systemd unit as text (systemd.service(5), systemd.exec(5)).

What of FILES and others is not here, and why an engine needs it: PrivateDevices=, since the cards are devices;
MemoryDenyWriteExecute=, since graph compilers write the code that they then run; ProtectProc=, ProcSubset=, since its
workers look for each other in /proc; RemoveIPC=, since they share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._node.rendered_files import HEADING
from .._node.unit_hardening import CONTAINER_ENGINE, FOREIGN_PROGRAM, capability_lines, device_lines
from .._node.unit_words import command_line, quoted, specifiers
from .control import ACCOUNT, ServingPaths
from .instance import Instance

# A crash in the warm-up would otherwise loop for hours: five starts an hour, then it is left to an operator.
STARTS, STARTS_SECONDS, PAUSE_SECONDS = 5, 3600, 10
# Beyond the engine's own time to let requests end.
STOP_SECONDS = 30
_HOMES = ("/home/", "/root/", "/run/user/")


@dataclass(frozen=True)
class Program:
    """``check`` runs before ``argv``. ``secrets`` are files of variables that systemd reads as root."""

    argv: Sequence[str]
    check: Sequence[str]
    secrets: Sequence[str] = ()
    is_container: bool = False
    writable: Sequence[str] = ()


def unit_text(instance: Instance, paths: ServingPaths, program: Program, model: str, drain: int) -> str:
    """``drain`` are the seconds that running requests get."""
    lines = [
        HEADING,
        "[Unit]",
        f"Description={specifiers(f'gaudi3.scale instance {instance.name}: {instance.model.served_name}')}",
        "Wants=network-online.target",
        "After=network-online.target",
        f"StartLimitIntervalSec={STARTS_SECONDS}",
        f"StartLimitBurst={STARTS}",
        "",
        "[Service]",
        # exec, not notify: nothing says when the warm-up is over but the port.
        "Type=exec",
        # Every byte of the model is read before; the warm-up comes after it.
        "TimeoutStartSec=infinity",
        f"ExecStartPre={command_line(program.check)}",
        f"ExecStart={command_line(program.argv)}",
        f"User={ACCOUNT}",
        f"WorkingDirectory={specifiers(paths.home)}",
        *(f"EnvironmentFile={specifiers(path)}" for path in (paths.environment, *program.secrets)),
        # The engine ends its workers; whatever is then left in the control group is killed.
        "KillMode=mixed",
        f"TimeoutStopSec={drain + STOP_SECONDS}",
        "Restart=on-failure",
        f"RestartSec={PAUSE_SECONDS}",
        # Lines of the warm-up come by hundreds.
        "LogRateLimitIntervalSec=0",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=65536",
        *confined(is_container=program.is_container),
        f"ReadWritePaths={' '.join(quoted(path) for path in (paths.home, *program.writable))}",
        *([f"BindReadOnlyPaths={quoted(model)}"] if model.startswith(_HOMES) else []),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(lines)


def confined(*, is_container: bool) -> list[str]:
    """What it may not do; podman in it makes a user namespace, and mounts in that."""
    lines = CONTAINER_ENGINE if is_container else FOREIGN_PROGRAM
    return [
        *("ProtectSystem=strict" if line.startswith("ProtectSystem=") else line for line in lines),
        "ProtectHome=tmpfs",
        "PrivateTmp=yes",
        "UMask=0077",
        "KeyringMode=private",
        *device_lines("hpu"),
        *capability_lines(),
    ]
