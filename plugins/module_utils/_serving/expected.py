# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the trained model answers to a few windows of tokens, from its record, and how far a server may be from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError
from .._node.json_file import parse_object
from .._node.regular_file import read_bounded
from .control import Control
from .model_check import OF_EXPORT, read_record

_MOST_BYTES = 1 << 26
# Of a logarithm of a probability. Cards add numbers in another order than the processor that exported the model, and
# round them as their type has it; nobody has measured it on a card. A type that is not named has the last one.
TOLERANCES: Mapping[str, float] = {"float32": 0.01, "float16": 0.05, "bfloat16": 0.3, "fp8": 1.0}
# What vLLM computes with where nobody chooses: weights of these types are rounded.
AS_SERVED: Mapping[str, str] = {"float32": "bfloat16", "float64": "bfloat16"}


@dataclass(frozen=True)
class Window:
    """``top``: token to the natural logarithm of its probability, the likeliest first."""

    tokens: tuple[int, ...]
    top: Mapping[int, float]


@dataclass(frozen=True)
class Expected:
    """``dtype`` is that of the exported weights."""

    dtype: str
    windows: tuple[Window, ...]

    def tolerance(self, served: str) -> tuple[str, float]:
        """The type that an instance computes with, and how far it may be; ``served`` "" is the engine's own choice."""
        dtype = served if served not in ("", "auto") else AS_SERVED.get(self.dtype, self.dtype)
        return dtype, TOLERANCES.get(dtype, max(TOLERANCES.values()))


def read_expected(control: Control) -> Expected:
    """Of the model that an instance was set up with; GaudiError for a record that has none, or is another one."""
    directory = control.model
    recorded = read_record(directory)
    if control.version and recorded.version != control.version:
        raise GaudiError(
            f"instance {control.name}: the record of {directory} is another than when the instance was set up; run "
            "serving.yml again."
        )
    try:
        text = read_bounded(f"{directory}/{OF_EXPORT}", _MOST_BYTES)
    except OSError as error:
        raise _has_none(control, f"has no {OF_EXPORT} that can be read ({error.strerror})") from error
    listed = recorded.files.get(OF_EXPORT)
    if recorded.record != OF_EXPORT and (listed is None or listed.sha256 != hashlib.sha256(text).hexdigest()):
        raise _has_none(control, f"has a {OF_EXPORT} that is not the one in its record")
    try:
        return parse_expected(parse_object(text, _MOST_BYTES))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _has_none(control, f"has no answers in its {OF_EXPORT}") from error


def parse_expected(record: Mapping[str, Any]) -> Expected:
    """ValueError, KeyError, TypeError or AttributeError where the record has none."""
    windows = tuple(
        Window(tuple(int(token) for token in one["tokens"]), {int(token): float(value) for token, value in one["top"]})
        for one in record["answers"]["windows"]
    )
    if not windows or not all(one.tokens and one.top for one in windows):
        raise ValueError("it has no windows")
    return Expected(str(record["dtype"]), windows)


def _has_none(control: Control, clause: str) -> GaudiError:
    return GaudiError(
        f"instance {control.name}: {control.model} {clause}, so nothing shows that it answers as it was trained; "
        "export the checkpoint again with this release, to a new directory."
    )
