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
_NO_CALLS = "@cpu-emulation @obsolete @reboot @swap"
# For programs that others write, and whose next release may call what this one does not.
FOREIGN_CALLS = (
    "SystemCallArchitectures=native",
    f"SystemCallFilter=~{_NO_CALLS} @clock @module @mount @raw-io",
    "SystemCallErrorNumber=EPERM",
)
USUAL_ADDRESSES = "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"
# For a program that nobody knows, of an account that is not root's: a training and what it brings. What is not here,
# and why a training needs it, is in _launch/confinement.py.
FOREIGN_PROGRAM = (
    *NO_NEW_PRIVILEGES,
    "ProtectSystem=full",
    *KERNEL,
    *KERNEL_TUNABLES,
    "RestrictRealtime=yes",
    "RestrictNamespaces=yes",
    USUAL_ADDRESSES,
    "LockPersonality=yes",
    *FOREIGN_CALLS,
    "DevicePolicy=closed",
)
# For the same in a container that its account starts: a user namespace in which it alone is, and mounts in that. Its
# engine is to take no further ids by set-user-ID programs, which could not help it here.
_NO_MOUNTS, _FEW_NAMESPACES = " @mount", "RestrictNamespaces=user mnt"
CONTAINER_ENGINE = (
    *(
        _FEW_NAMESPACES if line.startswith("RestrictNamespaces=") else line.replace(_NO_MOUNTS, "")
        for line in FOREIGN_PROGRAM
    ),
    "InaccessiblePaths=-/etc/subuid -/etc/subgid",
)
# Character devices by their names in /proc/devices, and what has no name of its own there.
DEVICES = {
    "hpu": ("char-accel", "char-habanalabs", "char-infiniband*", "/dev/infiniband/rdma_cm"),
    "cuda": ("char-nvidia*", "char-infiniband*", "/dev/infiniband/rdma_cm"),
    "cpu": ("char-infiniband*", "/dev/infiniband/rdma_cm"),
}


def device_lines(kind: str) -> list[str]:
    """The devices that a program of this kind (``hpu``, ``cuda``, ``cpu``) opens, beside those that all may."""
    return [f"DeviceAllow={device} rw" for device in DEVICES[kind]]


# For a service of the distribution that answers over the network, by an account of its own. Not with ProtectClock=,
# nor without @clock: the node exporter tells what adjtimex(2) says. Not with ProtectHome= and PrivateTmp=: it tells how
# full the file systems are.
DISTRIBUTIONS_SERVICE = (
    *NO_NEW_PRIVILEGES,
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictNamespaces=yes",
    "ProtectSystem=full",
    *(line for line in KERNEL if line != "ProtectClock=yes"),
    *KERNEL_TUNABLES,
    USUAL_ADDRESSES,
    "SystemCallArchitectures=native",
    f"SystemCallFilter=~{_NO_CALLS} @module @mount @raw-io",
    "SystemCallErrorNumber=EPERM",
    "CapabilityBoundingSet=",
)
# For root's own program that asks the vendor's hl-smi. Not strict: that may keep logs of its own below /var/log.
# ProtectClock= leaves no device but the clock's own, so that the cards' have to be named.
ASKS_CARDS = (
    *NO_NEW_PRIVILEGES,
    *OWN_PROCESS,
    *KERNEL,
    "ProtectSystem=full",
    "ProtectHome=yes",
    "PrivateTmp=yes",
    USUAL_ADDRESSES,
    *FOREIGN_CALLS,
    "DevicePolicy=closed",
    *device_lines("hpu"),
)
# For the vendor's programs that work on the cards themselves as root: hl_qual and hl-fw-loader. They open devices that
# nobody lists, reach the cards' registers over PCI, and change what the kernel shows of them below /sys.
VENDORS_TOOL = (
    *NO_NEW_PRIVILEGES,
    "LockPersonality=yes",
    "RestrictNamespaces=yes",
    "KeyringMode=private",
    "UMask=0077",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectSystem=full",
    # Not hidden: an environment or an image of root's may lie there.
    "ProtectHome=read-only",
    USUAL_ADDRESSES,
    "SystemCallArchitectures=native",
    f"SystemCallFilter=~{_NO_CALLS} @clock @debug @mount",
    "SystemCallErrorNumber=EPERM",
)
# What they need for it: files of all accounts, pinned and huge pages, registers, modules and links.
VENDORS_CAPABILITIES = (
    *("CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_IPC_LOCK", "CAP_SYS_ADMIN", "CAP_SYS_RAWIO"),
    *("CAP_SYS_NICE", "CAP_NET_ADMIN", "CAP_SYS_MODULE"),
)


def capability_lines(names: Sequence[str] = ()) -> list[str]:
    """Root's powers cut down to ``names`` (``CAP_NET_ADMIN``, …); none: root in name only."""
    return [f"CapabilityBoundingSet={' '.join(names)}"]


def address_lines(networks: Iterable[str]) -> list[str]:
    """Only ``networks`` and the node itself may be spoken with; no networks: no limit.

    ``networks`` are as :func:`networks.parse_networks` gives them. Containers without BPF do not enforce it.
    """
    named = list(networks)
    # Apart: systemd-run(1) takes a name of systemd's own only as the one word of a property.
    return ["IPAddressDeny=any", "IPAddressAllow=localhost", f"IPAddressAllow={' '.join(named)}"] if named else []
