# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What of a comparison is kept: what helps on every node, the best alone or all together, as variables; pure."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.verdict import HELPS

TOGETHER = "together"
# The built-in workload's options that launch_training.yml has a variable of its own for, or in gaudi_training_model.
_VARIABLES = {
    "precision": "gaudi_training_precision",
    "accumulation": "gaudi_training_accumulation_steps",
    "learning_rate": "gaudi_training_learning_rate",
}
_MODEL = ("layers", "width", "heads", "sequence_length")
# Those that are an option of the trainer, which takes them through gaudi_training_arguments.
_SWITCHES = {"checkpointing": "--checkpointing", "compile": "--compile"}
_ARGUMENTS = {"clip": "--clip", "gradient_compression": "--gradient-compression"}

Results = Mapping[str, Mapping[str, Any]]


def answered(results: Results) -> dict[str, Mapping[str, Any]]:
    """The nodes that have verdicts."""
    return {host: result for host, result in results.items() if result.get("verdicts") and not result.get("failed")}


def helpful(results: Results) -> list[str]:
    """The settings that help on every node that has an answer, the best first: by the node on which it helps least."""
    nodes = list(answered(results).values())
    if not nodes:
        return []
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for result in nodes:
        for verdict in result["verdicts"]:
            by_name.setdefault(verdict["name"], []).append(verdict)
    kept = [
        name
        for name, found in by_name.items()
        if len(found) == len(nodes) and all(one["verdict"] == HELPS for one in found)
    ]
    return sorted(kept, key=lambda name: -min(one["speed"]["estimate"] for one in by_name[name]))


def second_question(results: Results) -> dict[str, Any] | None:
    """The best setting as the base, and all that help together as the one to compare; None where there is no other.

    Settings that help alone may help each other, do nothing, or harm. Where two change the same thing, the better
    one's value is taken.
    """
    names = helpful(results)
    if len(names) < 2:
        return None
    settings = next(iter(answered(results).values()))["settings"]
    best = settings[names[0]]
    merged = _merged([changes(settings, name) for name in names])
    together = {
        "name": TOGETHER,
        "flags": {**best["flags"], **merged["flags"]},
        "options": {**best["options"], **merged["options"]},
        "batch_size": merged["batch_size"] or best["batch_size"],
    }
    if {key: together[key] for key in best} == dict(best):
        return None
    return {"base": dict(best), "settings": [together]}


def kept_changes(first: Results, second: Results | None) -> tuple[list[str], dict[str, Any]]:
    """The names of what is kept, and all that it changes; ``second`` is what the nodes said of all together."""
    names = helpful(first)
    if not names:
        return [], {"flags": {}, "options": {}, "batch_size": None}
    # A node that could not say whether all together help is no reason to believe it.
    whole = second is not None and set(answered(second)) == set(answered(first)) and bool(helpful(second))
    chosen = names if whole else names[:1]
    settings = next(iter(answered(first).values()))["settings"]
    return chosen, _merged([changes(settings, name) for name in chosen])


def changes(settings: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """What a setting, which is told in full, changes of the base."""
    base, whole = settings[BASE], settings[name]
    differing = {
        key: {one: value for one, value in whole[key].items() if one not in base[key] or base[key][one] != value}
        for key in ("flags", "options")
    }
    size = whole["batch_size"] if whole["batch_size"] != base["batch_size"] else None
    return {**differing, "batch_size": size}


def _merged(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All changes; of what several change, the first one's."""
    merged: dict[str, Any] = {"flags": {}, "options": {}, "batch_size": None}
    for one in reversed(found):
        merged["flags"].update(one["flags"])
        merged["options"].update(one["options"])
        merged["batch_size"] = one["batch_size"] or merged["batch_size"]
    return merged


def launch_variables(
    kept: Mapping[str, Any], plain: Sequence[str], built_in: bool, present: Mapping[str, Any]
) -> dict[str, Any]:
    """The variables that ``launch_training.yml`` and the role ``gaudi_flags`` take for these changes.

    ``plain`` are variables that are no Gaudi flags. ``present`` has the operator's own dictionaries and lists by name:
    a variable of the command line takes the place of all of one, so what they hold stays beside what is kept.
    """
    flags = kept["flags"]
    tuned = {name: value for name, value in flags.items() if name not in plain}
    others = {name: value for name, value in flags.items() if name in plain and value is not None}
    found: dict[str, Any] = {
        "gaudi_training_batch_size": kept["batch_size"],
        "gaudi_training_environment": {name: value for name, value in flags.items() if value is not None},
        "gaudi_flags_overrides": tuned,
        "gaudi_flags_environment": others,
        **(
            _trainer_variables(kept["options"]) if built_in else {"gaudi_batch_workload_options": dict(kept["options"])}
        ),
    }
    return {name: _beside(present.get(name), value) for name, value in found.items() if value not in (None, {}, [])}


def plain_variables(results: Results) -> list[str]:
    """The variables of all settings that are no Gaudi flags."""
    found = [name for result in answered(results).values() for one in result["verdicts"] for name in one["plain"]]
    return list(dict.fromkeys(found))


def without_variable(kept: Mapping[str, Any], built_in: bool) -> list[str]:
    """Options of the workload that no variable can carry to the trainer; a switch can only be turned on."""
    known = {*_VARIABLES, *_MODEL, *_ARGUMENTS, *(name for name in _SWITCHES if kept["options"].get(name))}
    return [name for name in kept["options"] if built_in and name not in known]


def _trainer_variables(options: Mapping[str, Any]) -> dict[str, Any]:
    arguments = [word for name, word in _SWITCHES.items() if options.get(name)]
    arguments += [word for name in _ARGUMENTS if name in options for word in (_ARGUMENTS[name], str(options[name]))]
    return {
        **{variable: options[name] for name, variable in _VARIABLES.items() if name in options},
        "gaudi_training_model": {name: options[name] for name in _MODEL if name in options},
        "gaudi_training_arguments": arguments,
    }


def _beside(own: Any, kept: Any) -> Any:
    if isinstance(own, Mapping) and isinstance(kept, Mapping):
        return {**own, **kept}
    if isinstance(own, list) and isinstance(kept, list):
        return [*own, *kept]
    return kept
