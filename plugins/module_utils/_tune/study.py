# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A tuning study as a value: what is tried, by which command, for which objective, and what the best becomes; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Mapping, Sequence

from .._errors import GaudiError
from .._job.job_secrets import told_apart
from .._job.paths import check_name
from .._job.variables import variables_from
from .space import BATCH_SIZE, LOSS, THROUGHPUT, TRAINER, Choices, Parameter, Range, flag_sets, flags_from, space_from

PRUNERS = ("median", "hyperband", "none")
MAX_STEPS = "max_steps"
# A trial of fewer optimizer steps says nothing: the first one only warms up.
LEAST_STEPS = 10
# What has to be as it was when a study goes on; the rest may be changed between two runs.
KEPT = ("objective", "steps", "tokens", "space", "flags", "command", "processes", "device", "environment")


@dataclass(frozen=True)
class Study:
    """``command`` is what torchrun starts. Of the built-in trainer it is what ``launch_training.yml`` would start, and
    the trial's values come behind it; in the operator's own they stand for ``{name}``.

    ``steps`` or ``tokens`` is a trial's budget, ``timeout`` its most seconds. ``probe`` is what bounds the batch
    (workload, options, maximum, multiple_of, steps, memory_limit), or None. ``sequence_length`` makes steps of tokens.
    """

    name: str
    objective: str
    trials: int
    steps: int | None
    tokens: int | None
    pruner: str
    space: tuple[Parameter, ...]
    flags: tuple[Choices, ...]
    command: tuple[str, ...]
    built_in: bool
    processes: int
    device: str
    timeout: float
    sequence_length: int
    environment: Mapping[str, str]
    probe: Mapping[str, Any] | None

    def trial_steps(self, params: Mapping[str, Any]) -> int:
        """The optimizer steps of a trial with these values."""
        if self.steps is not None:
            return self.steps
        return math.ceil((self.tokens or 0) / self.tokens_per_step(params))

    def tokens_per_step(self, params: Mapping[str, Any]) -> int:
        batch = int(params.get(BATCH_SIZE, 1)) * int(params.get("accumulation", 1))
        return batch * self.sequence_length * self.processes

    def largest_batch(self, params: Mapping[str, Any]) -> int | None:
        """The largest batch with which the budget makes ``LEAST_STEPS`` steps; None where steps are the budget."""
        if self.tokens is None:
            return None
        return self.tokens // (LEAST_STEPS * self.tokens_per_step({**params, BATCH_SIZE: 1}))


def study_from(options: Mapping[str, Any]) -> Study:
    """The study that the variables of ``tune_training.yml`` describe; raises GaudiError for the first mistake."""
    names = [field.name for field in fields(Study)]
    missing = [name for name in names if name not in options]
    if missing:
        raise GaudiError(f"The study has no {missing[0]}; describe it with playbooks/tune_training.yml.")
    _check_numbers(options)
    built_in = bool(options["built_in"])
    study = Study(
        name=check_name(f"tune-{options['name']}").partition("-")[2],
        objective=options["objective"],
        trials=int(float(options["trials"])),
        steps=_number_or_none(options["steps"]),
        tokens=_number_or_none(options["tokens"]),
        pruner=options["pruner"],
        space=space_from(options["space"], options["objective"], built_in),
        flags=flags_from(options["flags"]),
        command=tuple(map(str, options["command"])),
        built_in=built_in,
        processes=int(options["processes"]),
        device=options["device"],
        timeout=float(options["timeout"]),
        sequence_length=int(options["sequence_length"]),
        environment=variables_from("gaudi_tune_environment", options["environment"]),
        probe=options["probe"] or None,
    )
    _check(study)
    return study


def plan(options: Mapping[str, Any]) -> dict[str, object]:
    """The study as the playbook needs it: checked, with the flags to be judged on the nodes."""
    study = study_from(options)
    return {
        "study": {field.name: options[field.name] for field in fields(Study)},
        "flag_sets": flag_sets(study.flags),
    }


def definition(options: Mapping[str, Any]) -> dict[str, object]:
    """What has to be as it was when a study goes on; it is kept with the study, so without the values of secrets."""
    return {**{name: options[name] for name in KEPT}, "environment": told_apart(options["environment"])}


def trial_command(study: Study, params: Mapping[str, Any]) -> list[str]:
    """The words that torchrun starts for a trial with these values."""
    steps = study.trial_steps(params)
    if not study.built_in:
        return _filled(study.command, {**params, MAX_STEPS: steps})
    # Nobody needs a checkpoint of a trial. One step more than is run: the learning rate is not to end at nothing.
    budget = ["--max-steps", steps + 1, "--stop-after-steps", steps, "--checkpoint-every", 0]
    files = ["--metrics-every", max(1, steps // 10), "--resume", "never", "--loggers", "none"]
    words = [*budget, *files, *_arguments(params), "--batch-size", params[BATCH_SIZE]]
    return [*study.command, *map(_word, words)]


def launch_variables(
    study: Study, params: Mapping[str, Any], fixed: Mapping[str, Any], flags: Mapping[str, str]
) -> dict[str, object]:
    """The variables with which ``launch_training.yml`` runs these values; ``fixed`` are those that were not tuned."""
    environment = {**study.environment, **flags}
    shared = {**fixed, **({"gaudi_training_environment": environment} if environment else {})}
    if not study.built_in:
        # The launch puts its own steps where {max_steps} stands.
        return {**shared, "gaudi_training_command": _filled(study.command, params)}
    arguments = [*fixed.get("gaudi_training_arguments", []), *map(_word, _arguments(params))]
    return {**shared, "gaudi_training_batch_size": params[BATCH_SIZE], "gaudi_training_arguments": arguments}


def _arguments(params: Mapping[str, Any]) -> list[object]:
    """The trainer's options of all values but the batch size."""
    return [word for name, value in params.items() if name != BATCH_SIZE for word in _option(name, value)]


def _option(name: str, value: object) -> list[object]:
    """A switch that is off is left out, unless that would leave it to the trainer."""
    known = TRAINER[name]
    if value is False:
        return [known.option, known.off] if known.off else []
    return [known.option] if value is True else [known.option, value]


def _word(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _filled(words: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    filled = []
    for word in words:
        for name, value in values.items():
            word = word.replace(f"{{{name}}}", _word(value))
        filled.append(word)
    return filled


def _number_or_none(value: object) -> int | None:
    """Before ansible-core 2.19 a variable that is null is an empty text."""
    return None if value in (None, "") else int(float(str(value)))


def _check_numbers(options: Mapping[str, Any]) -> None:
    for name in ("trials", "steps", "tokens", "timeout"):
        value = options[name]
        if value in (None, "") and name in ("steps", "tokens"):
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not number >= 1:
            raise GaudiError(f"gaudi_tune_{name} is {value!r}; give a number of at least 1.")
    for name, known in (("objective", (THROUGHPUT, LOSS)), ("pruner", PRUNERS)):
        if options[name] not in known:
            raise GaudiError(f"gaudi_tune_{name} is {options[name]!r}; choose {', '.join(known)}.")


def _check(study: Study) -> None:
    if (study.steps is None) == (study.tokens is None):
        both = "both are given" if study.steps else "neither is given"
        raise GaudiError(
            f"A trial's budget is either gaudi_tune_steps or gaudi_tune_tokens, and {both}; give one of them."
        )
    if not study.space and not study.flags:
        raise GaudiError(
            "There is nothing to choose: gaudi_tune_space and gaudi_tune_flags are empty; name a parameter or a flag."
        )
    batch = next((one for one in study.space if one.name == BATCH_SIZE), None)
    if study.built_in:
        if batch is None:
            raise GaudiError("gaudi_tune_space.batch_size is left out; give it a range, or one size to hold it fixed.")
        if study.steps is not None and study.steps < LEAST_STEPS:
            raise GaudiError(
                f"gaudi_tune_steps is {study.steps}; give at least {LEAST_STEPS}, since the first ones warm up."
            )
        _check_tokens(study)
    else:
        _check_placeholders(study)
    if isinstance(batch, Range) and batch.high is None and study.probe is None:
        raise GaudiError(
            "gaudi_tune_space.batch_size has no high and nothing is probed; give high, or set gaudi_tune_probe to true."
        )


def _check_tokens(study: Study) -> None:
    if study.tokens is None:
        return
    counted = [one for one in study.space if one.name in (BATCH_SIZE, "accumulation")]
    smallest = {one.name: one.low if isinstance(one, Range) else min(one.values) for one in counted}
    needed = LEAST_STEPS * study.tokens_per_step(smallest)
    if study.tokens < needed:
        raise GaudiError(
            f"gaudi_tune_tokens is {study.tokens}, fewer than {LEAST_STEPS} optimizer steps of batch size "
            f"{smallest[BATCH_SIZE]:g} have; give at least {needed}, or a smaller batch size."
        )


def _check_placeholders(study: Study) -> None:
    if study.tokens is not None:
        raise GaudiError(
            "gaudi_tune_tokens is for the built-in trainer; give "
            "gaudi_tune_steps, and {max_steps} in gaudi_training_command."
        )
    text = " ".join(study.command)
    unused = [one.name for one in study.space if f"{{{one.name}}}" not in text]
    if unused:
        raise GaudiError(
            f"gaudi_training_command has no {{{unused[0]}}}; put it where gaudi_tune_space.{unused[0]} belongs."
        )
    if f"{{{MAX_STEPS}}}" not in text:
        raise GaudiError(
            "gaudi_training_command has no {max_steps}; put it where the number of steps of a trial belongs."
        )
