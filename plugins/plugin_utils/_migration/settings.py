# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The settings of a mapping by the names that the tables of answers have for them; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Setting

# Mappings of mappings, whose innermost values are the settings.
_NESTED = ("Networks", "Categories", "Groups")


def settings_of(content: Mapping[str, Any], file: str, host: str = "") -> list[Setting]:
    """One for each key; for each software of Omnia's list its version, and for what is nested each value in it."""
    return [Setting(file, name, value, host) for name, value in _named(content)]


def _named(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if name == "softwares" and isinstance(value, list):
            yield from _softwares(value)
        elif name in _NESTED:
            yield from _leaves(name, value)
        elif isinstance(value, Mapping) and isinstance(value.get("cluster"), list):
            yield f"{name}.cluster", [_package(one) for one in value["cluster"]]
        else:
            yield name, value


def _softwares(value: list[Any]) -> Iterator[tuple[str, Any]]:
    for one in value:
        if isinstance(one, Mapping):
            yield f"softwares.{one.get('name')}", one.get("version", "named")
        else:
            yield f"softwares.{one}", "named"


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Lists of mappings are what these files have where a mapping would do."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        for one in value:
            yield from _leaves(name, one)
    else:
        yield name, value


def _package(one: Any) -> str:
    return str(one.get("package", "")) if isinstance(one, Mapping) else str(one)
