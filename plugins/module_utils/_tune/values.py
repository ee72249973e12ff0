# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether values are of a study's space: what other nodes said of a trial is used only then; pure."""

from __future__ import annotations

import math
from typing import Any, Mapping

from .space import Choices, Parameter
from .study import Study

_SHOWN = 60


class OutsideError(ValueError):
    """Values that the study cannot have chosen; the message is a clause that names one of them."""


def values_of(study: Study, params: Mapping[str, Any], *, complete: bool = True) -> dict[str, Any]:
    """The parameters and flags of a trial, each choice as the study itself has it; raises OutsideError.

    A trial that was not ``complete`` may lack some.
    """
    known = {one.name: one for one in (*study.space, *study.flags)}
    unknown = next((name for name in params if name not in known), None)
    if unknown is not None:
        raise OutsideError(f"{_shown(unknown)} is not a parameter of the study")
    missing = next((name for name in known if complete and name not in params), None)
    if missing is not None:
        raise OutsideError(f"{missing} is missing")
    return {name: _value(study, one, params[name]) for name, one in known.items() if name in params}


def sorted_out(study: Study, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """``params`` of a command, and ``flags`` of its environment: those that are set."""
    flags = {flag.name: values[flag.name] for flag in study.flags if values[flag.name] is not None}
    return {"params": {one.name: values[one.name] for one in study.space}, "flags": flags}


def _value(study: Study, one: Parameter, value: Any) -> Any:
    if isinstance(one, Choices):
        for choice in one.values:
            if _kind(choice) == _kind(value) and choice == value:
                return choice
        raise OutsideError(f"{one.name} is {_shown(value)}, which is not one of its choices")
    if _kind(value) is not float or (one.whole and not isinstance(value, int)) or not _is_finite(value):
        raise OutsideError(f"{one.name} is {_shown(value)}, which is not a {'whole ' if one.whole else ''}number")
    high = _most(study) if one.high is None else one.high
    if not one.low <= value <= high:
        raise OutsideError(f"{one.name} is {_shown(value)}, which is not between {one.low:g} and {high:g}")
    if one.whole and (value - int(one.low)) % int(one.step or 1):
        raise OutsideError(f"{one.name} is {_shown(value)}, which is not a step of {one.step:g} from {one.low:g}")
    return value


def _most(study: Study) -> float:
    """The end of a range of batch sizes that the operator left open: the probe's."""
    return float((study.probe or {}).get("maximum", math.inf))


def _kind(value: object) -> type | None:
    """1, True and "1" are three values; 1 and 1.0 are one. A program's own kinds of texts and numbers are as good."""
    return next((kind for kind in (bool, str) if isinstance(value, kind)), float if _is_number(value) else None)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _shown(value: object) -> str:
    # Before all of an endless number is written out.
    return "an infinite number" if isinstance(value, int) and value.bit_length() > 63 else ascii(value)[:_SHOWN]
