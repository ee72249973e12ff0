# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What the modules that work step by step answer: the probe's and the comparison's schema; pure.

An answer has its module's RETURN values, and of Ansible's own what a person is shown. All else is dropped, also facts
that a node would set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.common.validation import check_type_dict
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import (
    CRASH,
    HANG,
    OK,
    OUT_OF_MEMORY,
    WORKLOAD_ERROR,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.log import described
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.options import asked
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.verdict import (
    CHANGES_LOSS,
    FAILED,
    HELPS,
    HURTS,
    NO_DIFFERENCE,
    NOT_MEASURED,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    RefusedError,
    by_name,
    event,
    lines,
    maybe,
    number,
    one_of,
    record,
    said,
    scalar,
    several,
    truth,
    whole,
    word,
)

_MOST_REMARKS = 100
_REMARKS = several(said, _MOST_REMARKS)
_OUTCOME = one_of(OK, OUT_OF_MEMORY, CRASH, HANG, WORKLOAD_ERROR)
_COUNT = whole()
_BYTES = maybe(whole())
_SIZE = whole(1)
_MEASURED = maybe(number)
_FIELDS = by_name(scalar)
_DIFFERENCE = record({"before": lines, "after": lines}, {"before_header": said, "after_header": said})
# Ansible's own, of an answer and of a failure.
_REPORTED = {
    "changed": truth,
    "failed": truth,
    "warnings": several(event, _MOST_REMARKS),
    "diff": several(_DIFFERENCE, _MOST_REMARKS),
}
_WHY = {"msg": lines, "exception": event, "module_stdout": lines, "module_stderr": lines, "rc": whole(-255, 255)}

_TRIAL = record(
    {
        "batch_size": _SIZE,
        "outcome": _OUTCOME,
        **dict.fromkeys(("peak_memory_bytes", "limit_bytes"), _BYTES),
        "step_seconds": _MEASURED,
        "message": lines,
    },
    {
        **dict.fromkeys(
            ("resting_memory_bytes", "peak_spread_bytes", "used_by_others_bytes", "held_memory_bytes"), _BYTES
        ),
        "warm_up_seconds": _MEASURED,
    },
)
_RUN = record(
    {"round": _COUNT, "name": word, "outcome": _OUTCOME, "step_seconds": _MEASURED, "message": lines},
    {"loss": _MEASURED, **dict.fromkeys(("peak_memory_bytes", "used_by_others_bytes"), _BYTES)},
)
_PROBED = {"key": word, "fields": _FIELDS, "cache_file": word, "trials": several(_TRIAL)}
FAILURES: dict[str, Kind] = {
    "trials": record({}, {**_REPORTED, **_WHY, **_PROBED}),
    "runs": record({}, {**_REPORTED, **_WHY, "runs": several(_RUN)}),
}


def probe_answer(arguments: Mapping[str, Any]) -> Kind:
    """What ``hpu_batch_probe`` answers to these arguments."""
    size = whole(1, int(arguments.get("maximum", 1024)))
    shared = record(
        {**dict.fromkeys(("global_batch", "world_size", "batch_size", "accumulation_steps"), _SIZE)},
        {"learning_rate": _MEASURED},
    )
    return record(
        {
            **_PROBED,
            "batch_size": maybe(size),
            **dict.fromkeys(("certified", "verified", "cached"), truth),
            "within": _MEASURED,
            "why": said,
            "next": maybe(record({"batch_size": size, "why": said})),
            "global_batch": maybe(shared),
            "remarks": _REMARKS,
        },
        {**_REPORTED, "ansible_facts": record({}, {"gaudi_batch_size": size})},
    )


_INTERVAL = maybe(record({**dict.fromkeys(("estimate", "low", "high", "level"), number)}))
_SPEEDS = dict.fromkeys(("samples_per_second", "step_seconds", "peak_memory_bytes", "loss"), _MEASURED)
_VERDICT = record(
    {
        "name": word,
        "verdict": one_of(HELPS, HURTS, NO_DIFFERENCE, CHANGES_LOSS, FAILED, NOT_MEASURED),
        "why": said,
        "speed": _INTERVAL,
        "step_time": _INTERVAL,
        **_SPEEDS,
        **dict.fromkeys(("memory", "loss_change"), _MEASURED),
        "rounds": _COUNT,
        "notes": _REMARKS,
        "plain": several(word, _MOST_REMARKS),
    }
)
_COMPARED = record(
    {
        "verdicts": several(_VERDICT),
        "base": record(_SPEEDS),
        "base_notes": _REMARKS,
        "rounds": _COUNT,
        **dict.fromkeys(("level", "confidence"), number),
        "fields": _FIELDS,
        "rates": by_name(several(number)),
        "regressions": _REMARKS,
        "runs": several(_RUN),
        "next": maybe(record({"round": _COUNT, "name": word})),
        "remarks": _REMARKS,
        "cached": truth,
    },
    {**_REPORTED, "state_file": word, "changes": several(record({"name": word, "speed": _INTERVAL, "slower": truth}))},
)


def comparison_answer(arguments: Mapping[str, Any]) -> Kind:
    """What ``hpu_compare_settings`` answers to these arguments.

    What the settings are is the controller's own word: a node only says what they do.
    """

    def kind(value: Any, field: str) -> dict[str, Any]:
        found = _COMPARED(value, field)
        given = {name: check_type_dict(arguments.get(name) or {}) for name in ("base", "workload_options")}
        comparison = asked({**arguments, **given})
        names = [setting.name for setting in comparison.settings]
        if [one["name"] for one in found["verdicts"]] != names:
            raise RefusedError("verdicts", f"those of {', '.join(names)}", [one["name"] for one in found["verdicts"]])
        for place, one in enumerate(found["verdicts"]):
            if one["verdict"] == HELPS and one["speed"] is None:
                raise RefusedError(f"verdicts[{place}].speed", "known where a setting helps", None)
        unasked = sorted({*found["rates"]} - {BASE, *names})
        if unasked:
            raise RefusedError("a name in rates", f"one of {', '.join([BASE, *names])}", unasked[0])
        changes = {one.name: one for one in comparison.settings}
        return {
            **found,
            "settings": described(comparison),
            "verdicts": [_with_changes(one, changes[one["name"]]) for one in found["verdicts"]],
        }

    return kind


def _with_changes(verdict: Mapping[str, Any], setting: Any) -> dict[str, Any]:
    plain = [name for name in verdict["plain"] if name in setting.flags]
    own = {"flags": dict(setting.flags), "options": dict(setting.options), "batch_size": setting.batch_size}
    return {**verdict, "plain": plain, **own}
