# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""One line of a terminal that is written anew while a task runs; whatever else is printed goes above it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import cut

# An eye sees no more, and a slow terminal should not be what a fleet waits for.
_LEAST_PAUSE_S = 0.1
_ERASE = "\r\x1b[K"


def can_be_rewritten() -> bool:
    """Whether standard output is a terminal that obeys."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class LiveLine:
    """The line, and Ansible's own display around it.

    Actions, warnings and prompts print through the one display that a run has, some in a thread of Ansible's. So the
    line is taken away in there, under the display's own lock. A forked worker has a copy of the display and no line.
    """

    def __init__(self, display: Any, before_others: Callable[[], None]) -> None:
        self._lock, self._pid = display._lock, os.getpid()
        self._is_shown = False
        self._written_at = 0.0
        self._others = before_others
        self.print: Callable[..., None] = display.display
        # As an attribute of the object: what Ansible's own class does stays as it is.
        vars(display)["display"] = self._print_for_others

    def write(self, text: str) -> None:
        """Show this text, unless one was shown just now."""
        now = time.monotonic()
        if now - self._written_at < _LEAST_PAUSE_S:
            return
        with self._lock:
            self._written_at = now
            self._is_shown = True
            sys.stdout.write(_ERASE + cut(text, os.get_terminal_size(sys.stdout.fileno()).columns - 1))
            sys.stdout.flush()

    def erase(self) -> None:
        """Take it away; the next text is shown at once."""
        with self._lock:
            if self._is_shown:
                sys.stdout.write(_ERASE)
                sys.stdout.flush()
            self._is_shown, self._written_at = False, 0.0

    def _print_for_others(self, *args: Any, **kwargs: Any) -> None:
        if os.getpid() != self._pid or kwargs.get("log_only"):
            self.print(*args, **kwargs)
            return
        with self._lock:
            self.erase()
            self._others()
            self.print(*args, **kwargs)
