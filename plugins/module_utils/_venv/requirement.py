# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A requirement specifier (PEP 508), taken apart as far as it has to be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._errors import GaudiError
from .wheel_bundle import normalized

_REQUIREMENT = re.compile(
    r"^\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>(?:[<>=!~;@(].*)?)$",
    re.DOTALL,
)


# A condition compares (PEP 508); without that, what is behind the semicolon is none.
_COMPARISON = re.compile(r"[<>=!~]=|[<>]|\bin\b")


@dataclass(frozen=True)
class Requirement:
    """``name`` is normalized. ``wanted`` is what of it, as ``>=1.2``, ``@ URL`` or nothing, without a condition."""

    name: str
    extras: tuple[str, ...]
    wanted: str


def parse_requirement(text: str) -> Requirement | None:
    """The parts of a specifier; None where it names no package."""
    match = _REQUIREMENT.match(text)
    if match is None:
        return None
    extras = tuple(extra.strip() for extra in (match["extras"] or "").split(",") if extra.strip())
    return Requirement(normalized(match["name"]), extras, match["rest"].partition(";")[0].strip())


def named_requirement(text: str) -> Requirement:
    """The parts of an element of the option ``requirements``, which has to name a package."""
    requirement = parse_requirement(text)
    condition = text.partition(";")[2]
    if requirement is None or (condition and not _COMPARISON.search(condition)):
        raise GaudiError(
            f"requirements has '{text}', which is not the name of a package; write 'name', 'name==1.2' or 'name @ "
            "URL'.",
            option="requirements",
        )
    return requirement
