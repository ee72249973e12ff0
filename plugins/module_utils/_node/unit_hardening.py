# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What systemd keeps from a unit of ours, in groups of lines (systemd.exec(5), systemd.resource-control(5)).

A unit takes the groups that its work leaves it; what it does not take has its reason beside it. All lines are known to
systemd 249, the oldest of the systems supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NO_NEW_PRIVILEGES = ("NoNewPrivileges=yes", "RestrictSUIDSGID=yes")
OWN_PROCESS = (
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictNamespaces=yes",
    "UMask=0077",
    "KeyringMode=private",
)
KERNEL = (
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
)
KERNEL_TUNABLES = ("ProtectKernelTunables=yes",)
FILES = ("ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes")
OTHER_PROCESSES = ("ProtectProc=invisible", "ProcSubset=pid", "RemoveIPC=yes")
NO_DEVICES = ("PrivateDevices=yes", "DevicePolicy=closed")
# Three walls for one thing: containers without BPF do not enforce the addresses.
NO_NETWORK = ("PrivateNetwork=yes", "IPAddressDeny=any", "RestrictAddressFamilies=AF_UNIX")
# For programs that we know: a foreign one may make code as it runs.
SYSTEM_CALLS = (
    "MemoryDenyWriteExecute=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @resources",
    "SystemCallErrorNumber=EPERM",
)


def capability_lines(names: Sequence[str] = ()) -> list[str]:
    """Root's powers cut down to ``names`` (``CAP_NET_ADMIN``, …); none: root in name only."""
    return [f"CapabilityBoundingSet={' '.join(names)}"]


def address_lines(networks: Iterable[str]) -> list[str]:
    """Only ``networks`` and the node itself may be spoken with; no networks: no limit.

    ``networks`` are as :func:`networks.parse_networks` gives them. Containers without BPF do not enforce it.
    """
    named = list(networks)
    return ["IPAddressDeny=any", f"IPAddressAllow=localhost {' '.join(named)}"] if named else []
