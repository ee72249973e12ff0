# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An HTTP/1.1 answer as its bytes arrive, so that each piece has the time at which it came; pure."""

from __future__ import annotations

# More than any server of ours sends as a head, and as one line of it.
LONGEST_HEAD = 1 << 16
LONGEST_LINE = 1 << 10


class HttpAnswer:
    """``status`` is 0 until the head is there. ``is_whole`` once all of the body is. ``may_stay``: the connection can
    be used again."""

    def __init__(self) -> None:
        self.status = 0
        self.is_whole = False
        self.may_stay = True
        self._pending = b""
        # Bytes of the body, or of its chunk, that are missing; None where the connection's end is that of the body.
        self._missing: int | None = 0
        self._is_chunked = False

    def take(self, data: bytes) -> bytes:
        """The part of the body that is in ``data``. Raises ValueError for what is no such answer."""
        self._pending += data
        if not self.status and not self._take_head():
            return b""
        if self._is_chunked:
            return self._take_chunks()
        found, self._pending = self._pending, b""
        if self._missing is not None:
            self._missing -= len(found)
            self.is_whole = self._missing <= 0
        return found

    def end(self) -> None:
        """The server has closed the connection."""
        self.may_stay = False
        if self.status and not self._is_chunked and self._missing is None:
            self.is_whole = True

    def _take_head(self) -> bool:
        head, separator, rest = self._pending.partition(b"\r\n\r\n")
        if not separator:
            if len(head) > LONGEST_HEAD:
                raise ValueError("its head does not end")
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
            raise ValueError("it is not HTTP")
        fields = {
            name.strip().lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines)
        }
        self._pending = rest
        self._is_chunked = "chunked" in fields.get("transfer-encoding", "").lower()
        length = fields.get("content-length")
        if length is not None and not length.isdigit():
            raise ValueError("its length is no number")
        self._missing = None if length is None else int(length)
        self.may_stay = words[0] != "HTTP/1.0" and fields.get("connection", "").lower() != "close"
        self.status = int(words[1])
        self.is_whole = self._missing == 0 and not self._is_chunked
        if self._is_chunked:
            self._missing = 0
        return True

    def _take_chunks(self) -> bytes:
        found = []
        while not self.is_whole:
            if self._missing:
                piece, self._pending = self._pending[: self._missing], self._pending[self._missing :]
                # Of the two bytes behind a chunk, nothing is the body's.
                body = max(0, self._missing - 2)
                found.append(piece[:body])
                self._missing -= len(piece)
                if self._missing:
                    break
            line, separator, rest = self._pending.partition(b"\r\n")
            if not separator:
                if len(line) > LONGEST_LINE:
                    raise ValueError("a chunk has no length")
                break
            self._pending = rest
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise ValueError("a chunk has no length") from None
            if size < 0:
                raise ValueError("a chunk has no length")
            if size:
                self._missing = size + 2
            else:
                # What may come behind the last chunk is one empty line; trailers no server of ours sends.
                self.is_whole = True
        return b"".join(found)
