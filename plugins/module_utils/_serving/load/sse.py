# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Server-sent events in pieces of any size; pure."""

from __future__ import annotations

# A token with twenty likely ones is two kilobytes.
LONGEST_EVENT = 1 << 20


class Events:
    """The data of each event, once all of it is there. Comments, which keep a connection open, are none."""

    def __init__(self) -> None:
        self._pending = b""

    def take(self, data: bytes) -> list[bytes]:
        """Those that end in ``data``. Raises ValueError where one does not end."""
        *whole, self._pending = (self._pending + data).replace(b"\r\n", b"\n").split(b"\n\n")
        if len(self._pending) > LONGEST_EVENT:
            raise ValueError("an event does not end")
        return [event[5:].strip() for event in whole if event.startswith(b"data:")]
