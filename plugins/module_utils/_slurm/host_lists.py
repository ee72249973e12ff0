# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm's lists of hosts, ``n[1-3]r[01-04]-ib,login``, as names; also of files, as gres.conf(5) has them."""

from __future__ import annotations

import itertools
import math
import re

from .._errors import GaudiError

# Slurm 22.05 refuses a range of more than 64 Ki hosts, too (MAX_RANGE of hostlist.h).
_MOST = 65_536
_PART = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")
_PIECE = re.compile(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*")


def expand(expression: str) -> list[str]:
    """The names, in the order in which Slurm counts them; raises GaudiError for what cannot be read as names.

    Ranges keep their zeros, a name may have several brackets, and text behind them. Slurm itself takes text behind the
    last bracket in some releases only; where a site has it, its Slurm does.
    """
    names: list[str] = []
    for part in _parts(expression):
        # Split at a group, every second piece is what stood in a bracket.
        pieces = re.split(r"\[([^\]]*)\]", part)
        choices = [_numbers(piece, expression) if place % 2 else [piece] for place, piece in enumerate(pieces)]
        if len(names) + math.prod(map(len, choices)) > _MOST:
            raise _refused(expression, f"it names more than {_MOST} hosts")
        names += ["".join(words) for words in itertools.product(*choices)]
    return names


def _parts(expression: str) -> list[str]:
    """What commas outside of brackets part; an empty one is nothing, as in Slurm."""
    parts, end = [], 0
    text = expression.strip()
    while end < len(text):
        if text[end] == ",":
            end += 1
            continue
        match = _PART.match(text, end)
        after = match.end() if match else end
        if match is None or (after < len(text) and text[after] != ","):
            raise _refused(expression, f"{text[after:][:20]!r} is not understood there")
        parts.append(match[0])
        end = after
    return parts


def _numbers(inside: str, expression: str) -> list[str]:
    found: list[str] = []
    for piece in inside.split(","):
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise _refused(expression, f"[{inside}] is not a list of numbers and ranges")
        low, high = match[1], match[2] or match[1]
        first, last = int(low), int(high)
        if last < first:
            raise _refused(expression, f"the range {piece.strip()} ends before it begins")
        if last - first >= _MOST:
            raise _refused(expression, f"it names more than {_MOST} hosts")
        found += [f"{number:0{len(low)}d}" for number in range(first, last + 1)]
    return found


def _refused(expression: str, why: str) -> GaudiError:
    return GaudiError(f"the list {expression!r:.120} cannot be read: {why}")
