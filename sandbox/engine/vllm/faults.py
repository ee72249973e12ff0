# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a test makes an engine do, by a file that is read while it runs: PORT.json in the directory of faults.

``{"hang": true}`` no step is computed, while all endpoints but completions answer; ``{"slow": 0.2}`` each step of the
engine takes so many seconds longer; ``{"die": true}`` the process ends without a word at its next step;
``{"warm_up_seconds": 30}`` the warm-up takes so long; ``{"warm_up_fails": true}`` it ends the process.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

DIRECTORY = "/run/gaudi_simulated_engine"
LOOK_SECONDS = 0.05


class Faults:
    """Those of the instance on one port, looked at twenty times a second at most."""

    def __init__(self, port: int) -> None:
        self._path = Path(os.environ.get("GAUDI_SIMULATED_ENGINE", DIRECTORY), f"{port}.json")
        self._next, self._found = 0.0, dict[str, object]()

    def current(self) -> dict[str, object]:
        """What the file has now; nothing where there is none, or it is being written."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LOOK_SECONDS
            try:
                found = json.loads(self._path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                found = {}
            self._found = found if isinstance(found, dict) else {}
        return self._found

    def seconds(self, name: str, default: float) -> float:
        """One of them as a number."""
        value = self.current().get(name, default)
        return float(value) if isinstance(value, (int, float)) else default

    def before_a_step(self) -> None:
        """Hang, die or wait."""
        if self.current().get("die"):
            os._exit(1)
        while self.current().get("hang"):
            time.sleep(LOOK_SECONDS)
            if self.current().get("die"):
                os._exit(1)
        slow = self.seconds("slow", 0.0)
        if slow:
            time.sleep(slow)
