# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The values of one trial: what Optuna suggests within the study's space, with a batch that can fit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from optuna.trial import FrozenTrial, Trial

from gaudi3_scale.core._batch.search import OUT_OF_MEMORY
from gaudi3_scale.core._flags.explanation import ExplainOptions, explain
from gaudi3_scale.core._node.commands import run_process
from gaudi3_scale.core._tune.space import BATCH_SIZE, Choices, Parameter, Range
from gaudi3_scale.core._tune.study import Study

# What of the built-in trainer's values decides how much memory a sample takes, beside the flags.
MEMORY = ("checkpointing", "compile")
Bound = Callable[[Mapping[str, Any], Mapping[str, str]], "int | None"]


class CannotFitError(Exception):
    """No batch size of the study fits with these values: there is nothing to run."""


@dataclass(frozen=True)
class Sample:
    """``params`` of the command and ``flags`` of the environment (those that are set); ``setup`` names what decides
    about memory."""

    params: Mapping[str, Any]
    flags: Mapping[str, str]
    setup: str


def sample(study: Study, trial: Trial, earlier: Sequence[FrozenTrial], bound: Bound) -> Sample:
    """The values of ``trial``; raises CannotFitError.

    ``bound`` gives the largest batch by the probe, None for no bound; of the ``earlier`` trials those that ran out of
    memory bound it as well. The batch comes last, since what fits depends on the rest.
    """
    rest = {one.name: _suggest(trial, one) for one in study.space if one.name != BATCH_SIZE}
    chosen = {flag.name: trial.suggest_categorical(flag.name, flag.values) for flag in study.flags}
    flags = {name: value for name, value in chosen.items() if value is not None}
    setup = setup_of(study, rest, flags)
    batch = next((one for one in study.space if one.name == BATCH_SIZE), None)
    if batch is None:
        return Sample(rest, flags, setup)
    bounds = [bound(rest, flags), study.largest_batch(rest), _learned(earlier, setup)]
    most = min((one for one in bounds if one is not None), default=None)
    size = _suggest_batch(trial, batch, most)
    trial.set_user_attr("setup", setup)
    return Sample({BATCH_SIZE: size, **rest}, flags, setup)


def setup_of(study: Study, params: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    """Trials with the same setup need the same memory for the same batch. Of an unknown command every value counts.

    With accumulation the gradients stay where the next pass runs, however many passes there are.
    """
    if not study.built_in:
        return json.dumps([dict(params), dict(flags)], sort_keys=True)
    memory = {name: params[name] for name in MEMORY if name in params}
    return json.dumps([{**memory, "accumulation": min(params.get("accumulation", 1), 2)}, dict(flags)], sort_keys=True)


def _learned(earlier: Sequence[FrozenTrial], setup: str) -> int | None:
    """One below the smallest batch of this setup that ran out of memory on any node."""
    failed = [
        int(trial.params[BATCH_SIZE])
        for trial in earlier
        if trial.user_attrs.get("outcome") == OUT_OF_MEMORY and trial.user_attrs.get("setup") == setup
    ]
    return min(failed) - 1 if failed else None


def _suggest(trial: Trial, parameter: Parameter) -> Any:
    if isinstance(parameter, Choices):
        return trial.suggest_categorical(parameter.name, parameter.values)
    return _suggest_range(trial, parameter, parameter.high if parameter.high is not None else parameter.low)


def _suggest_batch(trial: Trial, batch: Parameter, most: int | None) -> int:
    if isinstance(batch, Choices):
        size = int(trial.suggest_categorical(BATCH_SIZE, batch.values))
        if most is not None and size > most:
            raise CannotFitError(f"batch size {size} is more than the {most} that fit")
        return size
    ends = [end for end in (batch.high, most) if end is not None]
    if min(ends) < batch.low:
        raise CannotFitError(f"batch size {batch.low:g} is more than the {min(ends):g} that fit")
    return int(_suggest_range(trial, batch, min(ends)))


def _suggest_range(trial: Trial, one: Range, high: float) -> float:
    if not one.whole:
        return trial.suggest_float(one.name, one.low, high, step=one.step, log=one.log)
    step = int(one.step or 1)
    # Optuna warns where the range does not end on a step.
    last = int(one.low) + (int(high) - int(one.low)) // step * step
    return trial.suggest_int(one.name, int(one.low), last, step=step, log=one.log)


def refused_flags(flags: Mapping[str, str], venv: str) -> str:
    """Why these flags cannot be set together, as the installed bridge or the catalog judges; empty where they can."""
    if not flags:
        return ""
    verdicts: Any = explain(ExplainOptions(flags=flags, venv=venv), run_process)["flags"]
    return "; ".join(verdict["why"] for verdict in verdicts if verdict["level"] == "error")
