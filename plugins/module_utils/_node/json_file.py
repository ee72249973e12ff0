# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""JSON that others write, in a file or in a program's answer: read as data of somebody who may write anything."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, Callable

from .regular_file import read_bounded

# More than a program of ours writes into one; what is larger is none of them.
LARGEST = 1 << 24
# Values in it, counted by what parts them: an empty list is three bytes as text, and ninety as data.
MOST_VALUES = 1 << 21
# Deeper than anything of ours, and far from where a parser, or whoever walks through the data, runs out of stack.
DEEPEST = 64
# What 64 bits hold. Python refuses integers of 4,300 digits with an error of its own, and floats stand below 10**309.
MOST_DIGITS = 20
# What is measured has fewer digits than this, and sums and shares of such numbers are numbers again.
NEAREST_DIGITS, LARGEST_NUMBER, SMALLEST_NUMBER = 18, 1e36, 1e-36

# One that is not closed ends with the text: without that, the search would begin again at each of its quotes.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")


def parse_json(text: str | bytes, largest: int = LARGEST, *, named: bool = False) -> Any:
    """The value of a JSON text, nested at most ``DEEPEST`` levels, each number finite, each key once, all of it UTF-8.

    Raises ValueError with a clause that says what is wrong ("it nests deeper than 64 levels"); nothing else. With
    ``named`` a number that is none, or is too large to be one, becomes its name: ``"nan"``, ``"inf"`` or ``"-inf"``,
    and an integer of more than 18 digits a float.
    """
    if len(text) > largest:
        raise ValueError(f"it is longer than {largest} bytes")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"it is not UTF-8 at byte {error.start}") from None
    if len(text) > MOST_VALUES and largest <= LARGEST and sum(map(text.count, "[{,")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES} values")
    if _depth(text) > DEEPEST:
        raise ValueError(f"it nests deeper than {DEEPEST} levels")
    data = (_NAMING if named else _STRICT).decode(text)
    if "\\u" in text:
        _refuse_half_characters(data)
    return data


def parse_object(text: str | bytes, largest: int = LARGEST) -> dict[str, Any]:
    """As :func:`parse_json` does; ValueError as well for JSON that is no object."""
    data = parse_json(text, largest)
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    return data


def read_json(path: str, directory: int | None = None) -> dict[str, Any] | None:
    """The JSON object in ``path``; None where there is no such regular file or it is no object."""
    try:
        return parse_object(read_bounded(path, LARGEST, directory))
    except (OSError, ValueError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's members; ValueError where a key stands twice, since two readers could take either."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _value in pairs).items() if count > 1)
        raise ValueError(f"it has the key {twice[:40]!r} twice")
    return found


def _depth(text: str) -> int:
    """How deep the brackets nest outside of strings, where a parser comes before its first error."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _refuse_half_characters(data: object) -> None:
    """ValueError where an escape stands for half a character, which no file and no screen takes."""
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it has an unpaired surrogate: an escape from \\ud800 to \\udfff alone") from None


def _constant(name: str) -> object:
    raise ValueError(f"it has {name} instead of a number")


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it has a number that is too large: {text[:20]}")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"it has an integer of {len(text)} digits")
    return int(text)


def _real_or_name(text: str) -> object:
    number = float(text)
    if abs(number) > LARGEST_NUMBER:
        return "inf" if number > 0 else "-inf"
    return number if abs(number) > SMALLEST_NUMBER else 0.0


def _whole_or_near(text: str) -> object:
    return int(text) if len(text) <= NEAREST_DIGITS else _real_or_name(text)


_NAMES: Callable[[str], object] = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.__getitem__
_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_real, parse_int=_whole)
_NAMING = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_NAMES, parse_float=_real_or_name, parse_int=_whole_or_near
)
