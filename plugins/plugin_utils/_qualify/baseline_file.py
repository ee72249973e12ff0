# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The baseline as a file of the controller or in a bucket."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._kept_document import read_document, read_if_kept
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline import baseline_of, taken_baseline
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document, file_place, place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

NAME = "qualification_baseline.json"


def read_baseline(path: str) -> dict[str, Any] | None:
    """The baseline; None where none was saved yet, or no path is given. Raises GaudiError where nobody can tell."""
    found = read_if_kept(path, "baseline", NAME) if path else None
    return None if found is None else taken_baseline(found, path)


def keep_baseline(report: str, path: str, *, check_mode: bool) -> dict[str, Any]:
    """A result, after the figures of ``report`` are the baseline in ``path``; raises GaudiError."""
    wanted = baseline_of(read_document(report, "report", "qualify_nodes.json"), report)
    before = read_baseline(path)
    if before == wanted:
        return _result(wanted, [], changed=False)
    dropped = sorted({*before["nodes"]} - {*wanted["nodes"]}) if before else []
    where, name = file_place(path, NAME)
    if not check_mode:
        place(where, "baseline").write(Document(name, json.dumps(wanted, indent=1, sort_keys=True) + "\n"))
        show(f"{len(wanted['figures'])} figures of {len(wanted['nodes'])} nodes are the baseline: {path}")
    if dropped:
        show(f"No longer in it: {', '.join(dropped)}.")
    return _result(wanted, dropped, changed=True)


def _result(wanted: dict[str, Any], dropped: list[str], *, changed: bool) -> dict[str, Any]:
    return {"changed": changed, "figures": len(wanted["figures"]), "nodes": wanted["nodes"], "dropped": dropped}
