# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What is the same for all hosts, worked out by the first that asks.

Each host's task is a process of its own, which knows nothing of what another has read or built. What they share is the
run's own folder, where nobody else can write and which goes away with the run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any


def once_a_run(run_folder: Path, about: str, make: Callable[[], Any]) -> Any:
    """What ``make`` returns, by way of JSON; a folder that is full or gone costs time and nothing else.

    All hosts of a batch ask at once, so the others wait for the first.
    """
    kept = run_folder / f"gaudi3_scale-{hashlib.sha256(about.encode()).hexdigest()[:16]}.json"
    with _alone(kept.with_suffix(".lock")):
        with suppress(OSError, ValueError):
            return json.loads(kept.read_text(encoding="utf-8"))
        text = json.dumps(make())
        with suppress(OSError):
            kept.write_text(text, encoding="utf-8")
        return json.loads(text)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """The kernel lets go of the lock with its process, however that ends."""
    with ExitStack() as held:
        with suppress(OSError):
            fcntl.flock(held.enter_context(path.open("w")), fcntl.LOCK_EX)
        yield
