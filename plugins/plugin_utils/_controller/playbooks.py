# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The playbooks of this collection, with what a controller has to know of each and the options that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

COLLECTION = "gaudi3.scale."
IMPORT_PLAYBOOK, IMPORT_ROLE = "ansible.builtin.import_playbook", "ansible.builtin.import_role"


@dataclass(frozen=True)
class Playbook:
    """A file of ``playbooks/`` and its counterpart in ``playbooks/meta/``.

    ``changes``: what is different afterwards: nothing, nodes, host, job or files. ``needs`` are options that have to be
    given, ``asks`` those that are worth a question. ``together``: it needs all of its nodes in one run, so that neither
    a limit nor a slice may leave out some. ``roles``: the names of those that it applies; ``options``: option -> its
    specification in them. ``words``: option -> what its question has in place of its usual title, text, min, max or
    default. ``sets``: extra variables of its template. ``variants``: the same playbook with another survey, since a
    survey cannot ask for one thing or another.
    """

    name: str
    title: str
    purpose: str
    changes: str
    needs: tuple[str, ...]
    asks: tuple[str, ...]
    together: bool
    roles: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Playbook, ...] = ()

    @property
    def templates(self) -> tuple[Playbook, ...]:
        """Each of which becomes a template of its own."""
        return (self, *self.variants)


def read_playbooks(root: Path) -> list[Playbook]:
    """All that have a counterpart, by name; ``root`` is the collection's."""
    folder = root / "playbooks"
    return [_playbook(path, folder / f"{path.stem}.yml", root) for path in sorted((folder / "meta").glob("*.yml"))]


def roles_of(playbook: Path) -> Iterator[tuple[str, str]]:
    """Each role that it applies and the entry point, those of playbooks that it imports too."""
    for play in _read(playbook):
        if IMPORT_PLAYBOOK in play:
            yield from roles_of(playbook.with_name(play[IMPORT_PLAYBOOK]))
        for listed in play.get("tasks", []):
            for task in listed.get("block", [listed]):
                if IMPORT_ROLE in task:
                    role = task[IMPORT_ROLE]
                    yield role["name"].removeprefix(COLLECTION), role.get("tasks_from", "main")


def _playbook(meta: Path, playbook: Path, root: Path) -> Playbook:
    said = _read(meta)
    options: dict[str, Mapping[str, Any]] = {**SHARED}
    entries = list(roles_of(playbook))
    # What another role has, and this one takes its default of, comes first.
    for role in said.get("asks_of", []):
        options.update(_specification(root, role)["main"]["options"])
    for role, entry in entries:
        options.update(_specification(root, role)[entry].get("options", {}))
    first = Playbook(
        name=meta.stem,
        title=said["title"],
        purpose=said["purpose"],
        changes=said["changes"],
        needs=tuple(said["needs"]),
        asks=tuple(said["asks"]),
        together=said["together"],
        roles=(*said.get("asks_of", []), *(role for role, _entry in entries)),
        options=options,
        words=said.get("words", {}),
        sets=said.get("sets", {}),
    )
    return replace(first, variants=tuple(_variant(first, one) for one in said.get("variants", [])))


def _variant(first: Playbook, said: Mapping[str, Any]) -> Playbook:
    return replace(
        first,
        title=said["title"],
        purpose=said["purpose"],
        needs=tuple(said["needs"]),
        asks=tuple(said["asks"]),
        words=said.get("words", {}),
        sets=said.get("sets", {}),
    )


def _specification(root: Path, role: str) -> Any:
    return _read(root / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
