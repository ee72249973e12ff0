# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Lines of JSON that a job's programs append to a file: read as data of somebody who may write anything."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Iterator, Mapping

from .._node.json_file import parse_json
from .._node.regular_file import open_regular

# The longest that a program of ours writes is that of 512 nodes: 300 kB.
LONGEST_LINE = 1 << 20
# Of a file, from its end: some million steps.
MOST_BYTES = 1 << 28
_BLOCK = 1 << 20
_OF_A_VALUE = 16


def object_of(line: bytes) -> Mapping[str, Any] | None:
    """The JSON object in a line; None where it is none.

    A number that is none, or is too large to be one, becomes its name: ``"nan"``, ``"inf"`` or ``"-inf"``.
    """
    try:
        # A line that was half written when a node lost its power may have any bytes.
        data = parse_json(line.decode("utf-8", "replace"), LONGEST_LINE, named=True)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def mapping_of(value: object) -> Mapping[str, Any]:
    """A part of a line that is meant to be an object; empty where it is none."""
    return value if isinstance(value, dict) else {}


def read_lines(path: str, most: int = MOST_BYTES, lines: int = 0) -> Iterator[Mapping[str, Any]]:
    """The objects in the last ``most`` bytes of a file of lines, one after the other; what is none, as a line half
    written, is left out. With ``lines`` only those of its last so many lines."""
    found = map(object_of, read_texts(path, most, lines))
    return (line for line in found if line is not None)


def read_texts(path: str, most: int, lines: int = 0) -> Iterator[bytes]:
    """The lines in the last ``most`` bytes of a file as they are, and no more bytes though it grows meanwhile; with
    ``lines`` the last so many of them."""
    left = most
    try:
        with open_regular(path) as stream:
            stream.seek(_beginning(stream, most, lines))
            while text := stream.readline(min(left, LONGEST_LINE)):
                left -= len(text)
                yield text
    except OSError:
        return


def weight_of(text: bytes) -> int:
    """What a line costs as text and as data: of the densest, ``[[],[],``, data are thirty times as large."""
    return len(text) + _OF_A_VALUE * (text.count(b"[") + text.count(b"{") + text.count(b","))


def _beginning(stream: BinaryIO, most: int, lines: int) -> int:
    """Where the part that is read begins, looked for from the end: millions of short lines are counted, not read."""
    end = os.fstat(stream.fileno()).st_size
    least = max(0, end - most)
    place, left = end, lines
    while lines and place > least:
        begin = max(least, place - _BLOCK)
        stream.seek(begin)
        block = stream.read(place - begin)
        # The line end of the last line is none before it.
        ends = block[:-1] if place == end else block
        found = ends.count(b"\n")
        if found >= left:
            return begin + _nth_from_the_end(ends, left) + 1
        place, left = begin, left - found
    return least


def _nth_from_the_end(block: bytes, nth: int) -> int:
    """Where the line end is that is the so manieth from the end."""
    return len(block) - len(b"\n".join(block.rsplit(b"\n", nth)[1:])) - 1
