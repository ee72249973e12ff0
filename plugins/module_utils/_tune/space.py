# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a tuning study may choose from: the parameters and named flags that the operator wrote, checked; pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Union

from .._errors import GaudiError

THROUGHPUT = "throughput"
LOSS = "loss"
BATCH_SIZE = "batch_size"
RANGE_KEYS = ("low", "high", "step", "log")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

WHOLE, REAL, SWITCH = "whole number", "number", "true or false"


@dataclass(frozen=True)
class TrainerParameter:
    """A parameter of the built-in trainer: its option, what its values are, and the least that it takes.

    ``off`` is what the option is given to turn a switch off, where leaving it out is something else.
    """

    option: str
    kind: str
    least: float = 0.0
    off: str = ""


# argparse's names; the batch size is a variable of launch_training.yml of its own.
TRAINER: Mapping[str, TrainerParameter] = {
    BATCH_SIZE: TrainerParameter("--batch-size", WHOLE, 1),
    "accumulation": TrainerParameter("--accumulate", WHOLE, 1),
    "learning_rate": TrainerParameter("--learning-rate", REAL, math.ulp(0.0)),
    "checkpointing": TrainerParameter("--checkpointing", SWITCH, off="off"),
    "compile": TrainerParameter("--compile", SWITCH),
    "workers": TrainerParameter("--workers", WHOLE, 0),
}
# What moves the objective. Speed does not depend on the learning rate; at a fixed budget of tokens the loss hardly
# depends on how a step is computed.
_BATCHES: Mapping[str, object] = {BATCH_SIZE: {"low": 8, "step": 8}, "accumulation": [1, 2, 4]}
DEFAULTS: Mapping[str, Mapping[str, object]] = {
    THROUGHPUT: {**_BATCHES, "checkpointing": [False, True], "compile": [False, True], "workers": [0, 2, 4]},
    LOSS: {**_BATCHES, "learning_rate": {"low": 1e-5, "high": 1e-2, "log": True}},
}


@dataclass(frozen=True)
class Choices:
    """One of a few values; a flag's None is that it is not set."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included; ``high`` None: whatever fits. ``step`` None is 1, or any real number."""

    name: str
    low: float
    high: float | None
    whole: bool
    step: float | None = None
    log: bool = False


Parameter = Union[Choices, Range]


def space_from(given: Mapping[str, object], objective: str, built_in: bool) -> tuple[Parameter, ...]:
    """The parameters of a study in the order of their names; ``given`` replaces a default, and null leaves one out.

    Raises GaudiError, in one sentence, for the first mistake. A command of the operator's own has no defaults.
    """
    if not isinstance(given, Mapping):
        raise GaudiError(f"gaudi_tune_space is {given!r}; give a mapping from a parameter to its range or its choices.")
    wanted = {**(DEFAULTS[objective] if built_in else {}), **given}
    return tuple(_parameter(str(name), spec, objective, built_in) for name, spec in wanted.items() if spec is not None)


def flags_from(given: Mapping[str, object]) -> tuple[Choices, ...]:
    """The named flags with the texts to try for each; raises GaudiError for what cannot be meant."""
    if not isinstance(given, Mapping):
        raise GaudiError(
            f"gaudi_tune_flags is {given!r}; give a mapping from a flag's name to the list of values to try."
        )
    return tuple(_flag(str(name), values) for name, values in given.items())


def flag_sets(flags: Sequence[Choices]) -> list[dict[str, str]]:
    """Mappings that together have each value of each flag once: what has to be judged before anything starts."""
    most = max((len(flag.values) for flag in flags), default=0)
    sets = [
        {flag.name: flag.values[k] for flag in flags if k < len(flag.values) and flag.values[k] is not None}
        for k in range(most)
    ]
    return [one for one in sets if one]


def _flag(name: str, values: object) -> Choices:
    if not NAME.fullmatch(name):
        raise GaudiError(f"gaudi_tune_flags has {name!r}, which is not the name of a variable; correct it.")
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise GaudiError(
            f"gaudi_tune_flags.{name} is {values!r}; give a list of values to try, null for not setting it."
        )
    return Choices(name, _distinct(f"gaudi_tune_flags.{name}", [_flag_text(name, value) for value in values]))


def _flag_text(name: str, value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, (str, int, float)):
        return None if value is None else str(value)
    raise GaudiError(f"gaudi_tune_flags.{name} has {value!r}; give texts, numbers, or null for not setting it.")


def _parameter(name: str, spec: object, objective: str, built_in: bool) -> Parameter:
    known = TRAINER.get(name) if built_in else None
    if built_in and known is None:
        raise GaudiError(
            f"gaudi_tune_space.{name} is not a parameter of the built-in trainer; use {', '.join(TRAINER)}, "
            f"or set gaudi_training_command with {{{name}}} in it."
        )
    if not NAME.fullmatch(name):
        raise GaudiError(
            f"gaudi_tune_space has {name!r}, which is not a valid name; use letters, digits and underscores."
        )
    if built_in and name == "learning_rate" and objective == THROUGHPUT:
        raise GaudiError(
            "gaudi_tune_space.learning_rate does not change the speed; leave it out, or set gaudi_tune_objective loss."
        )
    if isinstance(spec, Mapping):
        return _range(name, spec, known)
    values = list(spec) if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]
    if not values:
        raise GaudiError(f"gaudi_tune_space.{name} has no choices; list at least one, or leave it out with null.")
    for value in values:
        if known is None and not isinstance(value, (str, int, float)):
            raise GaudiError(f"gaudi_tune_space.{name} has {value!r}; give texts, numbers, true or false.")
        if known is not None and not _fits(value, known):
            raise GaudiError(f"gaudi_tune_space.{name} has {value!r}; give {_described(known)}.")
    return Choices(name, _distinct(f"gaudi_tune_space.{name}", values))


def _range(name: str, spec: Mapping[str, object], known: TrainerParameter | None) -> Range:
    where = f"gaudi_tune_space.{name}"
    unknown = [key for key in spec if key not in RANGE_KEYS]
    if unknown:
        raise GaudiError(f"{where} has {unknown[0]!r}; a range has {', '.join(RANGE_KEYS)}.")
    if known is not None and known.kind == SWITCH:
        raise GaudiError(f"{where} is a range; it is a switch, so list the choices, as [false, true].")
    low, high, step = (_number(where, key, spec.get(key)) for key in ("low", "high", "step"))
    if low is None or (high is None and name != BATCH_SIZE):
        missing = "low" if low is None else "high"
        raise GaudiError(f"{where} has no {missing}; give both ends of the range, or a list of choices.")
    for key, value in (("low", low), ("high", high)):
        if known is not None and value is not None and not _fits(value, known):
            raise GaudiError(f"{where}.{key} is {value:g}; give {_described(known)}.")
    if high is not None and high < low:
        raise GaudiError(f"{where} begins at {low:g} and ends at {high:g}; swap low and high.")
    log = bool(spec.get("log", False))
    whole = known.kind == WHOLE if known is not None else all(_is_whole(n) for n in (low, high, step) if n is not None)
    if step is not None and (step <= 0 or log or (whole and step != int(step))):
        raise GaudiError(
            f"{where}.step is {step:g}; give a {'whole ' if whole else ''}number above 0, and no log with it."
        )
    if log and low <= 0:
        raise GaudiError(f"{where}.low is {low:g}; a logarithmic range begins above 0.")
    return Range(name, low, high, whole, step, log)


def _number(where: str, key: str, value: object) -> float | None:
    if value is None:
        return None
    try:
        # YAML 1.1 reads 1e-4 as a text.
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GaudiError(f"{where}.{key} is {value!r}; give a number.")
    return number


def _fits(value: object, known: TrainerParameter) -> bool:
    if known.kind == SWITCH or isinstance(value, bool):
        return known.kind == SWITCH and isinstance(value, bool)
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value < known.least:
        return False
    return known.kind == REAL or _is_whole(value)


def _is_whole(value: float) -> bool:
    return float(value).is_integer()


def _described(known: TrainerParameter) -> str:
    if known.kind == SWITCH:
        return SWITCH
    return f"a {known.kind} {'above 0' if 0 < known.least < 1 else f'of at least {known.least:g}'}"


def _distinct(where: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values in their order; 1 and True are two values."""
    seen = [(type(value), value) for value in values]
    twice = next((value for value in seen if seen.count(value) > 1), None)
    if twice is not None:
        raise GaudiError(f"{where} lists {twice[1]!r} twice; list each value once.")
    return tuple(values)
