# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The flags of each setting, judged before any run: what nothing reads would be measured as no difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from .._errors import GaudiError
from .._flags.bridge import read_bridge
from .._flags.checks import check_unchecked
from .._flags.explanation import ExplainOptions, explain, is_meant
from .._node.commands import Run
from .comparison import BASE, Comparison


@dataclass(frozen=True)
class Said:
    """Of the flags of one setting: a sentence for what is worth one, and the variables that are no flags."""

    notes: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FlagTarget:
    """What the flags are for, as ``ExplainOptions`` has it; empty: read from the node and the flags."""

    venv: str
    release: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] | None = None
    profile: str = ""
    network: str = ""


def judge_settings(
    comparison: Comparison, environment: Mapping[str, str], target: FlagTarget, run: Run
) -> dict[str, Said]:
    """What is to be said of the flags of each setting, by its name; ``environment`` is the node's.

    Raises GaudiError, before any run, naming every flag that is not real, or has a wrong or harmful value.
    """
    said: dict[str, Said] = {}
    refused: list[str] = []
    for name in comparison.names:
        flags = comparison.base.flags if name == BASE else _own_flags(name, comparison)
        errors, said[name] = _judge(flags, {**environment, **comparison.base.flags, **flags}, target, run)
        refused += [sentence if sentence.startswith(name) else f"{name}: {sentence}" for sentence in errors]
    if refused:
        raise GaudiError(" ".join(refused))
    return said


def child_environment(comparison: Comparison, name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of one run: those of the node, then the setting's; what it takes away is gone."""
    flags = comparison.of(name).flags
    kept = {variable: value for variable, value in environment.items() if flags.get(variable, "") is not None}
    return {**kept, **{variable: value for variable, value in flags.items() if value is not None}}


def _own_flags(name: str, comparison: Comparison) -> Mapping[str, str | None]:
    return next(setting.flags for setting in comparison.settings if setting.name == name)


def _judge(
    own: Mapping[str, str | None], seen: Mapping[str, str | None], target: FlagTarget, run: Run
) -> tuple[list[str], Said]:
    """Errors as sentences, and the rest. A flag is seen with all others, since it may need one of them."""
    bridge = read_bridge(target.venv)
    plain = [name for name in own if not is_meant(name, bridge)]
    errors = [one.sentence() for one in check_unchecked(plain, bridge) if one.level == "error"]
    notes = [f"{', '.join(plain)}: not a Gaudi flag, so it was not checked."] if plain else []
    flags = {name: value for name, value in seen.items() if value is not None and is_meant(name, bridge)}
    for verdict in _explained(flags, target, run) if set(flags) & set(own) else ():
        if verdict["name"] not in own or not verdict["why"]:
            continue
        sentence = f"{verdict['why']}; {verdict['use_instead']}."
        (errors if verdict["level"] == "error" else notes).append(sentence)
    return errors, Said(notes, plain)


def _explained(flags: Mapping[str, str], target: FlagTarget, run: Run) -> Any:
    options = ExplainOptions(
        flags=flags,
        release=target.release,
        profile=target.profile,
        network=target.network,
        venv=target.venv,
        release_overrides=target.release_overrides or {},
    )
    return explain(options, run)["flags"]
