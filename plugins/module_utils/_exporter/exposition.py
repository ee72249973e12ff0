# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics as the text that a Prometheus reads (its text format 0.0.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

GAUGE, COUNTER = "gauge", "counter"
# What a label's value and a help text must not have as it is.
_LABEL = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_HELP = str.maketrans({"\\": "\\\\", "\n": "\\n"})
# A node may write anything into a name of its own; a server keeps each for good.
_LONGEST_LABEL = 200
# In place of what ends a line for some readers, turns the writing, or is obeyed by a terminal.
_UNPRINTABLE = "\ufffd"


@dataclass(frozen=True)
class Sample:
    """One value; ``labels`` tell it from the others of its family."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """All values of one metric. A family without any is not written: what is not known is no zero."""

    name: str
    help: str
    samples: tuple[Sample, ...]
    kind: str = GAUGE


def text_of(families: Iterable[Family]) -> str:
    """The families by name, each once with its help and its kind."""
    ordered = sorted((family for family in families if family.samples), key=lambda family: family.name)
    return "".join(_family(family) for family in ordered)


def _family(family: Family) -> str:
    head = f"# HELP {family.name} {family.help.translate(_HELP)}\n# TYPE {family.name} {family.kind}\n"
    return head + "".join(f"{family.name}{_labels(one.labels)} {_number(one.value)}\n" for one in family.samples)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_label(value)}"' for name, value in labels.items()) + "}"


def _label(value: str) -> str:
    shown = (one if one.isprintable() or one == "\n" else _UNPRINTABLE for one in value[:_LONGEST_LABEL])
    return "".join(shown).translate(_LABEL)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
