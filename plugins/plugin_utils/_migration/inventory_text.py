# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""An inventory of another tool, in Ansible's two text forms, as data: groups, hosts and what is said of them; pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.inventory import detect_range, expand_hostname_range

# A group that every host is in, whatever the file says.
ALL = "all"
MOST_HOSTS = 10_000
_SECTION = re.compile(r"\[(?P<group>[\w.-]+)(?::(?P<kind>vars|children))?\]\s*(?:#.*)?")
_RANGE = re.compile(r"\[[0-9]{1,5}:[0-9]{1,5}(?::[0-9]{1,4})?\]")


@dataclass
class Inventory:
    """Hosts in the order of the file; ``members`` are of the groups themselves, ``children`` groups in them."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Of files of their own, for hosts that are here or in another inventory.
    host_variables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add_host(self, name: str, group: str, variables: Mapping[str, Any]) -> None:
        if len(self.hosts) >= MOST_HOSTS and name not in self.hosts:
            raise ValueError(f"it has more than {MOST_HOSTS} hosts")
        self.hosts.setdefault(name, {}).update(variables)
        members = self.members.setdefault(group, [])
        if name not in members:
            members.append(name)

    def hosts_of(self, group: str) -> list[str]:
        """With those of the groups in it."""
        if group == ALL:
            return [*self.hosts]
        found: set[str] = set()
        waiting, seen = [group], set()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                found.update(self.members.get(one, ()))
                waiting += self.children.get(one, ())
        return [name for name in self.hosts if name in found]

    def groups(self) -> list[str]:
        return [*dict.fromkeys([*self.members, *self.children, *self.variables])]


def read_ini(text: str) -> Inventory:
    """Raises ValueError with a clause that names the line."""
    found = Inventory()
    group, kind = "ungrouped", ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        section = _SECTION.fullmatch(line)
        if section:
            group, kind = section["group"], section["kind"] or ""
            found.members.setdefault(group, [])
        elif kind == "children":
            found.children.setdefault(group, []).append(line.partition("#")[0].strip())
        elif kind == "vars":
            name, _equals, value = line.partition("=")
            found.variables.setdefault(group, {})[name.strip()] = _unquoted(value.strip())
        else:
            _add_line(found, group, line, number)
    return found


def _add_line(found: Inventory, group: str, line: str, number: int) -> None:
    try:
        pattern, *words = shlex.split(line, comments=True)
    except ValueError:
        raise ValueError(f"line {number} has a quote that does not end") from None
    variables = dict(word.partition("=")[::2] for word in words)
    if not all("=" in word for word in words):
        raise ValueError(f"line {number} has a word that is not name=value")
    for name in _names(pattern, number):
        found.add_host(name, group, variables)


def _names(pattern: str, number: int) -> list[str]:
    """Of ``node[01:04]`` four names, as Ansible has it."""
    if not detect_range(pattern):
        return [pattern]
    ranges = _RANGE.findall(pattern)
    if len(ranges) != 1 or pattern.count("[") != 1:
        raise ValueError(f"line {number} has a range that is not read here; write the hosts one by one")
    try:
        names: list[str] = expand_hostname_range(pattern)
    except AnsibleError:
        raise ValueError(f"line {number} has a range that cannot be read") from None
    return names


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def is_yaml_inventory(content: Any) -> bool:
    """Whether data read from YAML is an inventory, by its outermost group."""
    top = content.get(ALL) if isinstance(content, Mapping) else None
    return isinstance(top, Mapping) and bool(top.keys() & {"hosts", "children"})


def read_groups(content: Mapping[str, Any]) -> Inventory:
    """Of data read from YAML; raises ValueError where a part is not a mapping."""
    found = Inventory()
    for name, group in content.items():
        _add_group(found, name, group)
    return found


def _add_group(found: Inventory, name: str, group: Any) -> None:
    found.members.setdefault(name, [])
    for part, content in _mapping(group, name).items():
        if part == "hosts":
            for host, variables in _mapping(content, f"{name}.hosts").items():
                for one in _names(host, 0):
                    found.add_host(one, name, _mapping(variables, host))
        elif part == "vars":
            found.variables.setdefault(name, {}).update(_mapping(content, f"{name}.vars"))
        elif part == "children":
            for child, inner in _mapping(content, f"{name}.children").items():
                found.children.setdefault(name, []).append(child)
                _add_group(found, child, inner)
        else:
            raise ValueError(f"{name} has {part!r:.60}, and a group has hosts, vars and children only")


def _mapping(content: Any, name: str) -> Mapping[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ValueError(f"{name:.60} is not a mapping")
    return content


def merged(inventories: Iterator[Inventory]) -> Inventory:
    """All of them as one, in their order; ``host_variables`` are then those of hosts that none has."""
    found = Inventory()
    for one in inventories:
        for name, variables in one.hosts.items():
            found.hosts.setdefault(name, {}).update(variables)
        for group, names in one.members.items():
            found.members.setdefault(group, []).extend(names)
        for group, names in one.children.items():
            found.children.setdefault(group, []).extend(names)
        for group, values in one.variables.items():
            found.variables.setdefault(group, {}).update(values)
        for name, values in one.host_variables.items():
            found.host_variables.setdefault(name, {}).update(values)
    for name in found.hosts.keys() & found.host_variables.keys():
        found.hosts[name].update(found.host_variables.pop(name))
    return found
