# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""When something was at work, of spans that come in any order, in bounded memory: a byte for each moment."""

from __future__ import annotations

from typing import Iterator

SLOTS = 1 << 20
# Of all timelines of a trace together. A moment is then made longer, so that none needs more.
MOST_BLOCKS = 96


class Timelines:
    """One per name. A moment is one microsecond at first."""

    def __init__(self, names: tuple[str, ...], most_blocks: int = MOST_BLOCKS) -> None:
        self.moment = 1.0
        self._most = most_blocks
        self._lines: dict[str, dict[int, bytearray]] = {name: {} for name in names}

    def mark(self, name: str, start: float, end: float) -> None:
        """From ``start`` to ``end``, in microseconds."""
        first, last = int(start / self.moment), int(end / self.moment)
        line = self._lines[name]
        while first < last:
            number, place = divmod(first, SLOTS)
            block = line.get(number)
            if block is None:
                if sum(map(len, self._lines.values())) >= self._most:
                    self._coarsen()
                    self.mark(name, first * self.moment / 2, end)
                    return
                block = line[number] = bytearray(SLOTS)
            length = min(last - first, SLOTS - place)
            block[place : place + length] = b"\1" * length
            first += length

    def seconds(self, wanted: str, without: tuple[str, ...], start: float, end: float) -> float:
        """How long between ``start`` and ``end`` ``wanted`` was at work and none of ``without``."""
        moments = sum(
            _only(block, [self._lines[name].get(number) for name in without]).count(1)
            for number, block in self._within(self._lines[wanted], start, end)
        )
        return moments * self.moment / 1e6

    def _within(self, line: dict[int, bytearray], start: float, end: float) -> Iterator[tuple[int, bytes]]:
        first, last = int(start / self.moment), int(end / self.moment)
        for number, block in line.items():
            low = max(0, first - number * SLOTS)
            high = min(SLOTS, last - number * SLOTS)
            if low < high:
                yield number, bytes(low) + bytes(block[low:high]) + bytes(SLOTS - high)

    def _coarsen(self) -> None:
        """A moment of twice the length: half the blocks where they lie side by side."""
        self.moment *= 2
        for name, line in self._lines.items():
            coarse: dict[int, bytearray] = {}
            for number, block in line.items():
                half = int.from_bytes(block[::2], "little") | int.from_bytes(block[1::2], "little")
                place = number % 2 * SLOTS // 2
                both = coarse.setdefault(number // 2, bytearray(SLOTS))
                both[place : place + SLOTS // 2] = half.to_bytes(SLOTS // 2, "little")
            self._lines[name] = coarse


def _only(block: bytes, others: list[bytearray | None]) -> bytes:
    taken = 0
    for other in others:
        taken |= int.from_bytes(other, "little") if other else 0
    left = int.from_bytes(block, "little")
    return (left & ~taken).to_bytes(SLOTS, "little") if taken else block
