# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A Chrome trace, event by event: a gigabyte passes through a few megabytes of memory."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import Any, BinaryIO, Iterator, TextIO

from .._errors import GaudiError
from .._node.regular_file import open_regular

# What is read at once, and the longest event: one that never ends must not fill the memory.
PIECE, LONGEST_EVENT = 1 << 22, 1 << 25
_LIST = re.compile(r'"traceEvents"\s*:\s*\[|\A\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_GZIP = b"\x1f\x8b"


def trace_events(path: str) -> Iterator[dict[str, Any]]:
    """The events of the trace in ``path``, plain or compressed by gzip. Raises GaudiError where there is none, and
    behind the last whole event of a trace that was cut off."""
    try:
        with open_regular(path, follow=True) as stream:
            yield from _events(path, _text(stream))
    except (EOFError, gzip.BadGzipFile) as error:
        raise _cut(path, str(error)) from None
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror or error}; name a trace that is there.") from None


def _text(stream: BinaryIO) -> TextIO:
    start = stream.read(2)
    stream.seek(0)
    plain: Any = gzip.GzipFile(fileobj=stream) if start == _GZIP else stream
    return io.TextIOWrapper(plain, encoding="utf-8", errors="replace")


def _events(path: str, stream: TextIO) -> Iterator[dict[str, Any]]:
    decode = json.JSONDecoder().raw_decode
    text, place = _first_piece(path, stream)
    seen = 0
    while True:
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
        if text.startswith("]", place):
            return
        try:
            event, place = decode(text, place)
            seen += 1
        except ValueError:
            more = stream.read(PIECE)
            if not more or len(text) - place > LONGEST_EVENT:
                raise _cut(path, f"after {seen:,} events") from None
            text, place = text[place:] + more, 0
            continue
        if isinstance(event, dict):
            yield event


def _first_piece(path: str, stream: TextIO) -> tuple[str, int]:
    """The text from somewhere before the list of events, and where the first of them may begin."""
    text = ""
    while len(text) < LONGEST_EVENT:
        more = stream.read(PIECE)
        text += more
        found = _LIST.search(text)
        if found:
            return text, found.end()
        if not more:
            break
    if not text.lstrip().startswith("{") or text.rstrip().endswith("}"):
        raise GaudiError(f"{path} is no Chrome trace: it has no list of events; name the .json file of a trace.")
    raise _cut(path, "before its first event")


def _cut(path: str, where: str) -> GaudiError:
    return GaudiError(
        f"{path} is cut off {where}: its program ended while it was written, or the disk was full; profile again."
    )
