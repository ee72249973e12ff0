# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Which hosts of another tool's inventory are nodes of ours, and how they are reached; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import is_secret
from ansible_collections.gaudi3.scale.plugins.plugin_utils._inventory.nodes import is_host_name, is_reachable
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import (
    KEPT,
    LOOK,
    NOT_HERE,
    NOT_NEEDED,
    Answer,
    is_template,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.inventory_text import ALL, Inventory

FILE = "inventory"
# Groups whose hosts compute: of Omnia, of its first releases, of DeepOps, of Kubespray.
WORKERS = (
    "slurm_node",
    "kube_node",
    "compute",
    "workers",
    "slurm-node",
    "kube-node",
    "gpu-servers",
    "k8s-gpu",
    "gaudi",
)
_SCHEDULERS = ("slurm_control_node", "slurm-master", "manager", "slurm_dbd")
# How a host is reached, and what its value may be; all else of a connection is for a program that would be run.
_REACHED: Mapping[str, re.Pattern[str]] = {
    "ansible_user": re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"),
    "ansible_port": re.compile(r"[0-9]{1,5}"),
    "ansible_python_interpreter": re.compile(r"/[A-Za-z0-9_./-]+"),
    "ansible_ssh_private_key_file": re.compile(r"[~/][A-Za-z0-9_./-]*"),
}
_OTHER_NAMES = {
    "ansible_ssh_host": "ansible_host",
    "ansible_ssh_user": "ansible_user",
    "ansible_ssh_port": "ansible_port",
}
_KUBESPRAY = ("ip", "access_ip", "etcd_member_name")


@dataclass(frozen=True)
class Nodes:
    """Variables of each node by its name, in the order of ranks; ``shared`` are of all nodes."""

    hosts: Mapping[str, Mapping[str, Any]]
    shared: Mapping[str, Any]
    answers: Sequence[Answer]
    # What is said of groups and is no way to reach a host.
    others: Sequence[tuple[str, Any]]


def nodes_of(inventory: Inventory, addresses: Mapping[str, str]) -> Nodes:
    """The hosts of the groups that compute, or all where no such group has any; raises ValueError for a bad name."""
    workers = [group for group in WORKERS if inventory.hosts_of(group)]
    wanted = {name for group in workers for name in inventory.hosts_of(group)}
    names = [name for name in inventory.hosts if name in wanted or not workers]
    if not inventory.hosts:
        names = [*addresses]
    by_address = {address: name for name, address in addresses.items()}
    answers = [*_chosen(names, workers, inventory, bool(addresses))]
    hosts: dict[str, dict[str, Any]] = {}
    for name in names:
        called = by_address.get(name, name)
        if not is_host_name(called):
            raise ValueError(f"{called!r:.80} is not a valid host name; use letters, digits, dots and hyphens only")
        found, told = _variables(name, inventory.hosts.get(name, {}))
        answers += told
        address = found.pop("ansible_host", addresses.get(called, name))
        if not is_reachable(address):
            raise ValueError(f"{called} has the address {address!r:.80}, which is neither a host name nor an address")
        hosts[called] = {**({"ansible_host": address} if address != called else {}), **found}
    lost = [(host, name) for host, values in inventory.host_variables.items() for name in values]
    answers += [Answer(FILE, name, f"of {host}", NOT_HERE, "no inventory here has this host") for host, name in lost]
    shared, others, told = _of_groups(inventory, workers)
    return Nodes(hosts, shared, [*answers, *told], others)


def _chosen(names: Sequence[str], workers: Sequence[str], inventory: Inventory, mapped: bool) -> Iterator[Answer]:
    rest = [name for name in inventory.hosts if name not in names]
    count = f"{len(names)} hosts"
    if workers:
        yield Answer(
            FILE, ", ".join(workers), count, KEPT, "in the group gaudi; preflight.yml names those without cards"
        )
    elif inventory.hosts or mapped:
        where = "no group is known as one that computes, so all are in the group gaudi: take out those without cards"
        yield Answer(FILE, "all hosts", count, LOOK, where)
    told: set[str] = set()
    for group in inventory.groups():
        members = inventory.hosts_of(group)
        if members and group != ALL and set(members) <= set(rest):
            told.update(members)
            yield Answer(FILE, group, ", ".join(members[:8]), NOT_HERE, _reason(group))
    for name in rest:
        if name not in told:
            yield Answer(FILE, name, "", NOT_HERE, _reason(""))
    if mapped:
        kept = "as names and addresses; other columns are for provisioning"
        yield Answer(FILE, "HOSTNAME, ADMIN_IP", "a mapping file", KEPT, kept)


def _reason(group: str) -> str:
    if group in _SCHEDULERS:
        return "no node; to drain by Slurm set gaudi_upgrade_drain: slurm and gaudi_drain_host to one of them"
    return "no node, and left as it is"


def _variables(host: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Answer]]:
    """Those by which a host is reached, and answers to the others."""
    kept: dict[str, Any] = {}
    answers: list[Answer] = []
    for name, value in given.items():
        ours = _OTHER_NAMES.get(name, name)
        is_plain = isinstance(value, (str, int)) and not is_template(value)
        if ours == "ansible_host" and is_plain:
            kept[ours] = str(value)
        elif ours in _REACHED and is_plain and _REACHED[ours].fullmatch(str(value)):
            kept[ours] = int(value) if ours == "ansible_port" else str(value)
        else:
            answers.append(Answer(FILE, name, f"of {host}", *_not_reached_by(name)))
    return kept, answers


def _not_reached_by(name: str) -> tuple[str, str]:
    if is_secret(name) or "pass" in name:
        return LOOK, "a password is not read; use keys and --ask-become-pass, or Ansible Vault"
    if name in _KUBESPRAY:
        return NOT_NEEDED, "Kubespray's own"
    if name in ("ansible_become", "ansible_connection"):
        return NOT_NEEDED, "nodes are reached by SSH, and ansible_become is set for them"
    if name.startswith("ansible_"):
        return LOOK, "it is for the program that connects, and not taken over; use a ProxyJump in ~/.ssh/config"
    return LOOK, "a variable of one host that is not known here; look whether the node needs it"


def _of_groups(
    inventory: Inventory, workers: Sequence[str]
) -> tuple[dict[str, Any], list[tuple[str, Any]], list[Answer]]:
    """Variables of all hosts and of the groups that compute; what is of other groups alone is answered."""
    shared: dict[str, Any] = {}
    others: list[tuple[str, Any]] = []
    answers: list[Answer] = []
    for group, values in inventory.variables.items():
        reached = {name: value for name, value in values.items() if name.startswith("ansible_")}
        kept, told = _variables(group, reached)
        if group != ALL and group not in workers and not _holds(inventory, group, workers):
            told += [Answer(FILE, name, f"of {group}", NOT_HERE, "a group without nodes") for name in kept]
            kept = {}
        shared.update(kept)
        answers += told
        others += [(name, value) for name, value in values.items() if name not in reached]
    return shared, others, answers


def _holds(inventory: Inventory, group: str, workers: Sequence[str]) -> bool:
    inside = set(inventory.hosts_of(group))
    return any(set(inventory.hosts_of(one)) <= inside for one in workers)
