# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The ports of jobs, open to the cluster's nodes alone: one table of nftables and the unit that loads it. Pure text.

The table judges nothing but its own ports, so that it locks nobody out and leaves every other table its word.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from .._errors import GaudiError
from .._node import unit_hardening
from .._node.networks import of_version

UNIT = "gaudi3-scale-firewall.service"
RULE_FILE = "gaudi3_scale/firewall.nft"
TABLE = "inet gaudi3_scale"
PROGRAM = "/usr/sbin/nft"
# Rendezvous and store, supervisors, the measurement of the network, a study and its launchers: all defaults of ours.
DEFAULT_PORTS = ("29500-29515", "29520", "29530", "29540")
# Below are the services by which a node is reached, sshd's for one.
LOWEST_PORT = 1024

_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_HARDENING = (
    *unit_hardening.NO_NEW_PRIVILEGES,
    *unit_hardening.OWN_PROCESS,
    *unit_hardening.KERNEL,
    *unit_hardening.KERNEL_TUNABLES,
    *unit_hardening.FILES,
    *unit_hardening.OTHER_PROCESSES,
    *unit_hardening.NO_DEVICES,
    *unit_hardening.SYSTEM_CALLS,
    # Rules are those of the node's own network, told over netlink; nothing is sent.
    "IPAddressDeny=any",
    "RestrictAddressFamilies=AF_NETLINK AF_UNIX",
    *unit_hardening.capability_lines(["CAP_NET_ADMIN"]),
)


def parse_ports(given: Iterable[object]) -> tuple[str, ...]:
    """Each of ``given`` as ``29500`` or ``29500-29515``, in rising order; those that meet or touch are joined."""
    ranges = sorted(map(_parse, given))
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(str(first) if first == last else f"{first}-{last}" for first, last in joined)


def _parse(given: object) -> tuple[int, int]:
    found = _PORTS.fullmatch(str(given))
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not LOWEST_PORT <= first <= last <= 65535:
        raise GaudiError(
            f"firewall_ports: {str(given)[:40]!r} is not a port or range from {LOWEST_PORT} to 65535; write for "
            "example 29500 or 29500-29515."
        )
    return first, last


def rules_text(nodes: Sequence[str], ports: Sequence[str]) -> str:
    """What nft loads in one go: the table as it was goes, and this one comes. ``nodes`` of ``networks.parse_networks``.

    An answer to what a node itself asked elsewhere may come to any port, thus the third rule.
    """
    families = [(4, "ip", "ipv4_addr"), (6, "ip6", "ipv6_addr")]
    members = [(version, family, kind, of_version(nodes, version)) for version, family, kind in families]
    sets = [_set(f"nodes{version}", kind, named) for version, _family, kind, named in members if named]
    accepted = [
        f"        {family} saddr @nodes{version} accept\n" for version, family, _kind, named in members if named
    ]
    table = (
        f"table {TABLE} {{\n"
        + "".join([*sets, _set("ports", "inet_service", ports)])
        + "    chain input {\n"
        + "        type filter hook input priority filter; policy accept;\n"
        + "        meta l4proto != { tcp, udp } accept\n"
        + "        th dport != @ports accept\n"
        + "        ct state established,related accept\n"
        + '        iif "lo" accept\n'
        + "".join(accepted)
        + '        counter drop comment "@MARK@"\n'
        + "    }\n}\n"
    )
    marked = table.replace("@MARK@", f"gaudi3.scale {hashlib.sha256(table.encode()).hexdigest()[:16]}")
    return f"# Written by gaudi3.scale.\ntable {TABLE}\ndelete table {TABLE}\n{marked}"


def _set(name: str, kind: str, members: Sequence[str]) -> str:
    lines = ",\n            ".join(members)
    return (
        f"    set {name} {{\n        type {kind}\n        flags interval\n        auto-merge\n"
        f"        elements = {{\n            {lines}\n        }}\n    }}\n"
    )


def mark_of(rules: str) -> str:
    """By what ``nft list`` shows that these ``rules`` are in force and no others."""
    found = re.search(r'comment "(gaudi3\.scale [0-9a-f]{16})"', rules)
    return found[1] if found else ""


def unit_text(rule_file: str) -> str:
    """The unit that loads the rules before the network comes up, and again when nftables.service swept all away."""
    hardening = "\n".join(_HARDENING)
    return f"""\
# Written by gaudi3.scale.
[Unit]
Description=The ports of Gaudi jobs are open to the cluster's nodes alone
DefaultDependencies=no
After=local-fs.target nftables.service
Before=network-pre.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target
PartOf=nftables.service
ReloadPropagatedFrom=nftables.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={PROGRAM} -f {rule_file}
ExecReload={PROGRAM} -f {rule_file}
ExecStop=-{PROGRAM} delete table {TABLE}
{hardening}

[Install]
WantedBy=multi-user.target
"""
