# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Hundreds of host names as a person reads them: ``node[01-12,15]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# Further digits are a number of their own, so that none is too long to count with.
_NUMBER = re.compile(r"([0-9]{1,9})")

Parts = tuple[str, ...]


def compact(names: Iterable[str]) -> str:
    """The names, those that differ in one number folded into ranges; zeros before a number stay."""
    alike: dict[Parts, list[Parts]] = {}
    for name in sorted(set(names), key=_by_number):
        parts = _NUMBER.split(name)
        alike.setdefault(tuple(parts[::2]), []).append(tuple(parts[1::2]))
    return ",".join(word for texts, rows in alike.items() for word in _folded(texts, rows))


def shortened(folded: str, width: int) -> str:
    """What :func:`compact` returned in at most so many characters: whole numbers, and dots for the others."""
    if len(folded) <= width:
        return folded
    kept = folded[: max(width - 2, 0)]
    kept = kept[: kept.rfind(",") + 1] or kept
    return f"{kept}…" + ("]" if kept.count("[") > kept.count("]") else "")


def in_order(said: Mapping[str, Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    """What hosts said, those first whose first host is: nodes answer in any order."""
    return sorted(said.items(), key=lambda one: min(map(_by_number, one[1])))


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(part) if place % 2 else 0, part) for place, part in enumerate(_NUMBER.split(name))]


def _folded(texts: Parts, rows: Sequence[Parts]) -> list[str]:
    """One word for the names that differ in their last varying number alone."""
    varying = [place for place in range(len(texts) - 1) if len({row[place] for row in rows}) > 1]
    if not varying:
        return [_name(texts, row) for row in rows]
    last = varying[-1]
    together: dict[tuple[Parts, Parts], list[str]] = {}
    for row in rows:
        together.setdefault((row[:last], row[last + 1 :]), []).append(row[last])
    return [_name(texts, (*before, _bracket(numbers), *after)) for (before, after), numbers in together.items()]


def _bracket(numbers: Sequence[str]) -> str:
    if len(numbers) == 1:
        return numbers[0]
    ranges: list[list[str]] = []
    for number in numbers:
        if ranges and number == f"{int(ranges[-1][-1]) + 1:0{len(ranges[-1][-1])}d}":
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return f"[{','.join('-'.join(one) for one in ranges)}]"


def _name(texts: Parts, numbers: Parts) -> str:
    return "".join(text + number for text, number in zip(texts, (*numbers, "")))
