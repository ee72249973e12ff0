# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Looking at a node's cards beside the loop, since hl-smi can take a minute and a half."""

from __future__ import annotations

import threading
from typing import Callable


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
            self.reason = f"its cards cannot be checked: {error}"
