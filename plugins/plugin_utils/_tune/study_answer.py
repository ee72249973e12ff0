# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The report of the node that keeps a tuning study, held against the study as the controller knows it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import OK
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.study import Study, launch_variables
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.values import OutsideError, sorted_out, values_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    RefusedError,
    by_name,
    maybe,
    number,
    one_of,
    record,
    said,
    scalar,
    several,
    whole,
    word,
)

# Some kilobytes a trial: a study of a hundred thousand.
LONGEST = 1 << 28
_STATES = (OK, FAILED, "working")
_NODE = record({"node": word, "state": one_of(*_STATES), "trials": whole(), "broken": whole(), "why": said})
_REPORT = record(
    {
        "columns": several(said),
        "rows": several(by_name(scalar)),
        "notes": several(said),
        "sections": several(
            record({"title": said, "columns": several(said), "rows": several(_NODE), "notes": several(said)}), 1
        ),
        "data": record(
            {
                "best": maybe(
                    record({"trial": whole(), "value": number, "params": by_name(scalar), "flags": by_name(scalar)})
                ),
                "done": whole(),
            }
        ),
    }
)


def study_report(study: Study, fixed: Mapping[str, Any]) -> Kind:
    """What ``gaudi3_scale.tune report`` wrote, and what is made of it here: ``variables`` of a launch, None without a
    best, and ``sick`` nodes. ``fixed`` are launch variables that were not tuned."""

    def kind(value: Any, field: str) -> dict[str, Any]:
        found = _REPORT(_decoded(value), field)
        best = found["data"]["best"]
        values = None if best is None else _values(study, best)
        data = {**found["data"], "objective": study.objective, "best": best and {**best, **(values or {})}}
        return {
            **found,
            "title": f"Study {study.name}: {found['data']['done']} of {study.trials} trials",
            "data": data,
            "variables": values and launch_variables(study, values["params"], fixed, values["flags"]),
            "sick": [row["node"] for part in found["sections"] for row in part["rows"] if row["state"] == FAILED],
        }

    return kind


def _values(study: Study, best: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    unset = {flag.name: None for flag in study.flags if flag.name not in best["flags"]}
    try:
        return sorted_out(study, values_of(study, {**best["params"], **best["flags"], **unset}))
    except OutsideError as error:
        raise RefusedError("data.best", f"of the study's space ({error})", dict(best["params"])) from error


def _decoded(text: Any) -> Any:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise RefusedError("report.json", f"a text of at most {LONGEST} characters", str(text)[:9])
    try:
        return json.loads(text)
    # Brackets without end, or a number of too many digits.
    except (ValueError, RecursionError) as error:
        raise RefusedError("report.json", f"JSON ({type(error).__name__})", text[:20]) from error
