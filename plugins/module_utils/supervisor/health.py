# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a node's cards let it take part; looked at beside the loop, since hl-smi can take a minute and a half."""

from __future__ import annotations

import threading
from typing import Callable

from ..cards.hpu_facts import gather
from ..checks.check import failed, refusal
from ..driver.verify import card_checks
from ..node.commands import Run


def unfit_reason(device: str, cards: int, run: Run, kernel_root: str) -> str:
    """Why this node cannot take part; empty where it can. ``cards``: how many the job needs of it."""
    if device != "hpu":
        return ""
    problems = failed(card_checks(gather(run, kernel_root), cards))
    return refusal("its cards are not all healthy", problems) if problems else ""


class HealthCheck:
    """One look in a thread of its own. ``reason`` is None until it is over."""

    def __init__(self, look: Callable[[], str], started: float) -> None:
        self.started = started
        self.reason: str | None = None
        self._thread = threading.Thread(target=self._look, args=(look,), daemon=True)
        self._thread.start()

    def _look(self, look: Callable[[], str]) -> None:
        try:
            self.reason = look()
        except Exception as error:
            # A node that cannot be looked at is one that nobody should rely on.
            self.reason = f"its cards cannot be looked at: {error}"
