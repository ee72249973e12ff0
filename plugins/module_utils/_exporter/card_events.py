# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What happens to cards, as HLML reports it while it happens: counted for a Prometheus, and a line each in the journal.

One process waits in the library (``hlml_reader.py``); nobody polls. Where it ends, or does not say in time that nothing
has happened, another is started later, and why is said once.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._cards.accel_sysfs import accel_devices
from .._cards.hlml import events_program, events_reason
from .._cards.hlml_interface import EVENTS, LIBRARIES
from .._node.json_file import parse_object
from .exposition import COUNTER, Family, Sample

# How long the library waits at once. It says after each time that it is alive.
WAIT_MILLISECONDS = 5_000
# A card in reset may hold the library as long as the driver's own time-out.
SILENT_SECONDS = 60.0
AGAIN_SECONDS = 60.0
MOST_LINE = 1 << 12
MEANING = {
    "ecc_derr": "an uncorrected memory error (ECC)",
    "critical_err": "a critical error",
    "clock_rate": "a change of its clock",
    "dram_derr": "an uncorrected error of its HBM",
    "ecc_serr": "a corrected memory error (ECC)",
    "dram_serr": "a corrected error of its HBM",
}
# Of these thousands may come; they are counted, and not each is worth a line.
QUIET = frozenset({"clock_rate", "ecc_serr", "dram_serr"})

Say = Callable[[str], None]


class CardEvents:
    """``counts``: how often what happened to which card, by PCI address, since this was made."""

    def __init__(self, kernel_root: str, say: Say, libraries: Sequence[str] = LIBRARIES) -> None:
        self._root, self._say, self._libraries = kernel_root, say, libraries
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, int]] = {}
        self._said = ""

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        with self._lock:
            return {address: dict(kinds) for address, kinds in self._counts.items()}

    def start(self) -> CardEvents:
        """Wait in a thread, as long as this process lives."""
        threading.Thread(target=self._forever, daemon=True).start()
        return self

    def wait_once(self) -> str:
        """Wait in one process until it ends; why it did."""
        addresses = [device.pci_address for device in accel_devices(self._root)]
        if not addresses:
            return "no driver holds a card"
        argv, refusal = events_program(addresses, WAIT_MILLISECONDS, self._libraries)
        if refusal:
            return refusal
        reason = "its process ended"
        with _process(argv) as lines:
            for line in lines:
                reason = self._take(line) or reason
                if line is None:
                    break
        return reason

    def _forever(self) -> None:
        while True:
            reason = self.wait_once()
            if reason != self._said:
                self._say(f"Events of the cards are not reported: {reason}; it is tried again each minute")
                self._said = reason
            time.sleep(AGAIN_SECONDS)

    def _take(self, line: Mapping[str, Any] | None) -> str:
        """Count what a line tells; a reason where it is the last."""
        if line is None:
            return f"HLML did not answer for {SILENT_SECONDS:g} s"
        address, mask = line.get("card"), line.get("event")
        if line.get("registered") == 0 and isinstance(address, str):
            self._known(address)
            if self._said:
                self._said = ""
                self._say("Events of the cards are reported again")
        if isinstance(address, str) and address and isinstance(mask, int):
            self._count(address, [name for name, bit in EVENTS.items() if mask & bit])
        return events_reason(line, self._libraries[0])

    def _known(self, address: str) -> None:
        """From now on there is a number, 0 at first, that can grow."""
        with self._lock:
            self._counts.setdefault(address, dict.fromkeys(EVENTS, 0))

    def _count(self, address: str, names: Sequence[str]) -> None:
        with self._lock:
            kinds = self._counts.setdefault(address, dict.fromkeys(EVENTS, 0))
            for name in names:
                kinds[name] += 1
        for name in names:
            if name not in QUIET:
                self._say(f"Card {address}: HLML reported {MEANING[name]}")


def event_families(counts: Mapping[str, Mapping[str, int]], slots: Mapping[str, str]) -> Iterable[Family]:
    """``slots``: PCI address -> the card's label."""
    yield Family(
        "gaudi_card_events_total",
        "What HLML reported of the card while it happened, since the collector began.",
        tuple(
            Sample(count, {"card": slots[address], "event": name})
            for address, kinds in counts.items()
            if address in slots
            for name, count in kinds.items()
        ),
        COUNTER,
    )


@contextlib.contextmanager
def _process(argv: Sequence[str]) -> Iterator[Iterator[Mapping[str, Any] | None]]:
    """The lines of a process, None where it was silent for too long; ended with all that it started."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            yield _lines(child.stdout.fileno()) if child.stdout else iter(())
        finally:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, 9)


def _lines(descriptor: int) -> Iterator[Mapping[str, Any] | None]:
    text = b""
    while True:
        if not select.select([descriptor], [], [], SILENT_SECONDS)[0]:
            yield None
            return
        piece = os.read(descriptor, MOST_LINE)
        *whole, text = (text + piece).split(b"\n")
        for line in whole:
            with contextlib.suppress(ValueError):
                yield parse_object(line.decode(errors="replace"), MOST_LINE)
        if not piece or len(text) > MOST_LINE:
            return
