# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Which nodes the controller has taken out of service, as it has kept that itself: a node's claim keeps no other in.

A file that is not there is no empty list: nothing was kept yet, and nobody but the nodes can tell.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kept_document import read_if_kept
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document, file_place, place

OPTION = "gaudi_quarantine_marks"
NAME = "quarantine.json"


def read_marks(path: str) -> dict[str, str] | None:
    """Since when by node; None where nothing was kept yet. Raises GaudiError for what is no such file."""
    found = read_if_kept(path, OPTION, NAME)
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(since, str) for since in found.values()):
        raise GaudiError(f"{OPTION} {path} is not a list of nodes with times; name another file, or remove it.")
    return dict(found)


def write_marks(path: str, marks: Mapping[str, str]) -> None:
    """Keep them. Raises GaudiError where that place takes no file."""
    where, name = file_place(path, NAME)
    place(where, OPTION).write(Document(name, json.dumps(marks, indent=1, sort_keys=True) + "\n"))


def out_of_service(marks: Mapping[str, str] | None, answers: Mapping[str, bool], nodes: Collection[str]) -> list[str]:
    """Those of ``nodes`` that are. ``answers`` are their own words, of those that have answered.

    A node that says it is none has been given back: its mark has ended, or somebody has taken it away on the node.
    """
    if marks is None:
        return sorted(name for name in nodes if answers.get(name, False))
    return sorted(name for name in nodes if name in marks and answers.get(name, True))


def changed_marks(marks: Mapping[str, str] | None, node: str, since: str) -> dict[str, str]:
    """With the node since then, or without it where ``since`` is empty; a node that is there keeps its first time."""
    known = dict(marks or {})
    if since:
        return {**known, node: known.get(node, since)}
    known.pop(node, None)
    return known


def answers_of(hostvars: Mapping[str, Any], nodes: Collection[str], result: str) -> dict[str, bool]:
    """What nodes have said of themselves in the registered ``result``, of those that have said it at all."""
    said = {name: (hostvars.get(name) or {}).get(result) for name in nodes}
    return {
        name: bool(answer["quarantined"])
        for name, answer in said.items()
        if isinstance(answer, Mapping) and isinstance(answer.get("quarantined"), bool)
    }
