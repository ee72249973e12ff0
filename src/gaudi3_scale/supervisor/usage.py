# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks of this node use, as it is seen from outside them: a line now and then in a file of bounded length.

A program that tells nothing can be watched by it, and one that does is none the slower: nothing is asked of the ranks.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from typing import Collection, Mapping

from gaudi3_scale.core._cards.hbm_use import held_by
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._node.process_tree import descendants
from gaudi3_scale.core._node.regular_file import read_end
from gaudi3_scale.supervisor.card_usage import ask_cards
from gaudi3_scale.supervisor.files import append_line, replace_file
from gaudi3_scale.supervisor.process_usage import ProcessUsage, group_usage, tree_usage

SAMPLE_S = 10.0
# Asking all cards takes the driver 2 to 3 s (the vendor's exporter, which asks each 30 s).
CARDS_S = 30.0
# A card in reset holds hl-smi for up to 90 s.
CARDS_ANSWER_S = 120.0
# So many lines are kept; then every second one goes, and from then on they are written half as often.
MOST_LINES = 2000
MOST_BYTES = 4 << 20


class Usage:
    """``look`` is called while there are ranks. Cards are asked in a thread, and never while a question is open.

    Of the cards those of ``modules`` count; none: all.
    """

    def __init__(self, path: str, device: str, control_group: str, run: Run, modules: Collection[int] = ()) -> None:
        self._path, self._group, self._run, self._modules = path, control_group, run, modules
        self._has_cards = device == "hpu"
        self._lines = (read_end(path, MOST_BYTES) or "").splitlines(keepends=True)[-MOST_LINES:]
        self._interval = SAMPLE_S
        self._due = self._cards_due = 0.0
        self._before: tuple[float, float] | None = None
        self._asking: threading.Thread | None = None
        self._cards: Mapping[str, object] = {}

    def look(self, generation: int | None, now: float) -> None:
        """Add a line where one is due."""
        if now < self._due:
            return
        self._due = now + self._interval
        cards, self._cards = self._cards, {}
        self._ask_cards(now)
        used = group_usage(self._group) if self._group else ProcessUsage(None, None)
        if used.processor is None or used.memory is None:
            tree = tree_usage([os.getpid(), *descendants(os.getpid())])
            used = ProcessUsage(
                tree.processor if used.processor is None else used.processor,
                tree.memory if used.memory is None else used.memory,
            )
        cores = self._cores(used.processor, now)
        reported = {"time": round(time.time(), 3), "generation": generation, "of_cores": os.cpu_count()}
        self._keep({**reported, "cores": cores, "memory_bytes": used.memory, **({"cards": cards} if cards else {})})

    def _cores(self, processor: float | None, now: float) -> float | None:
        """How many cores were busy since the line before."""
        before, self._before = self._before, None if processor is None else (now, processor)
        if before is None or processor is None or now <= before[0] or processor < before[1]:
            return None
        return round((processor - before[1]) / (now - before[0]), 3)

    def _ask_cards(self, now: float) -> None:
        is_open = self._asking is not None and self._asking.is_alive()
        if not self._has_cards or is_open or now < self._cards_due:
            return
        self._cards_due = now + max(CARDS_S, self._interval)
        self._asking = threading.Thread(target=self._answer, daemon=True)
        self._asking.start()

    def _answer(self) -> None:
        # What is not known is not drawn; whether a card is well is asked elsewhere.
        with contextlib.suppress(Exception):
            held = held_by([os.getpid(), *descendants(os.getpid())])
            self._cards = {
                **ask_cards(self._run, CARDS_ANSWER_S, self._modules),
                **({"held_bytes": held} if held else {}),
            }

    def _keep(self, reported: Mapping[str, object]) -> None:
        line = json.dumps(reported, separators=(",", ":")) + "\n"
        self._lines.append(line)
        # A full disk is no reason to end what runs.
        with contextlib.suppress(OSError):
            if len(self._lines) <= MOST_LINES:
                append_line(self._path, line)
            else:
                self._lines = self._lines[::2]
                self._interval *= 2
                replace_file(self._path, "".join(self._lines))
