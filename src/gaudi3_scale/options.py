# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines whose mistakes are GaudiErrors: one sentence, and in a rank's error file like any other error."""

from __future__ import annotations

import argparse
import math
from typing import Any, NoReturn, TypeVar

from gaudi3_scale.core._errors import GaudiError

Number = TypeVar("Number", int, float)


class ArgumentParser(argparse.ArgumentParser):
    """argparse, but a wrong argument raises GaudiError instead of ending the process."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise GaudiError(f"{message[:1].upper()}{message[1:]}; {self.prog} --help shows the options.")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _number(text, int, 1, "a whole number of at least 1")


def not_negative(text: str) -> int:
    """A whole number of at least 0."""
    return _number(text, int, 0, "a whole number of at least 0")


def not_negative_real(text: str) -> float:
    """A finite number of at least 0."""
    return _number(text, float, 0, "a number of at least 0")


def positive_real(text: str) -> float:
    """A finite number above 0."""
    return _number(text, float, math.ulp(0.0), "a number above 0")


def _number(text: str, kind: type[Number], least: float, wanted: str) -> Number:
    value: Any
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    number: Number = value
    return number
