# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON that a job's programs append to a file: read as data of somebody who may write anything."""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Iterator, Mapping

from ..node.regular_file import open_regular

# The longest that a program of ours writes is that of 512 nodes: 300 kB.
LONGEST_LINE = 1 << 20
# Beyond this many digits JSON's integers are no counts of anything, and slow to work with.
MOST_DIGITS = 18


def object_of(line: bytes) -> Mapping[str, Any] | None:
    """The JSON object in a line; None where it is none.

    A number that is none, or is too large to be one, becomes its name: ``"nan"``, ``"inf"`` or ``"-inf"``.
    """
    try:
        # A line that was half written when a node lost its power may have any bytes.
        data = _DECODER.decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def read_lines(path: str) -> Iterator[Mapping[str, Any]]:
    """The objects in a file of lines, one after the other; what is none, as a line half written, is left out."""
    try:
        with open_regular(path) as stream:
            while text := stream.readline(LONGEST_LINE):
                line = object_of(text)
                if line is not None:
                    yield line
    except OSError:
        return


def _real(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else str(number)


def _whole(text: str) -> object:
    return int(text) if len(text) <= MOST_DIGITS else _real(text)


_NAMES: Callable[[str], object] = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.__getitem__
_DECODER = json.JSONDecoder(parse_constant=_NAMES, parse_float=_real, parse_int=_whole)
