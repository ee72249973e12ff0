# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The driver loaded anew with ``timeout_locked=0``, which tests want on Gaudi 2, and as it was before.

A mark is on the disk while it is loaded so: a run that was cut off is followed by one that puts it back first.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, Sequence

from gaudi3_scale.core._cards.accel_sysfs import timeout_locked
from gaudi3_scale.core._cards.hpu_facts import HpuFacts, gather
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import Run, last_line
from gaudi3_scale.core._node.kernel_modules import load, loaded_modules, unload
from gaudi3_scale.core._qualify.counters import grown
from gaudi3_scale.core._releases.lookup import find_release

DRIVER = "habanalabs"
UNLOCKED = "timeout_locked=0"
# Cards initialize and their links train after the modules are loaded; dell/omnia waits for the ports too.
_SETTLE_S, _POLL_S = 300.0, 3.0


def load_unlocked(release: str, run: Run, mark: str, kernel_root: str) -> None:
    """Raises GaudiError where the driver cannot be unloaded or loaded; does nothing where it is loaded so."""
    loaded = timeout_locked(kernel_root)
    if loaded == 0 or (loaded is None and Path(mark).exists()):
        return
    Path(mark).touch()
    _reload(release, run, kernel_root, [UNLOCKED])


def put_back(release: str, run: Run, mark: str, kernel_root: str) -> None:
    """As it is loaded at boot; does nothing where it already is."""
    if Path(mark).exists():
        try:
            _reload(release, run, kernel_root, [])
        finally:
            # It is loaded as at boot, whether or not the cards have come up.
            if loaded_modules([DRIVER], kernel_root):
                Path(mark).unlink()


def wait_until_up(
    before: HpuFacts,
    look: Callable[[], HpuFacts],
    seconds: float = _SETTLE_S,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Until the cards and links are as they were; raises GaudiError past ``seconds``."""
    deadline = clock() + seconds
    while worse := grown(before, look()):
        if clock() >= deadline:
            raise GaudiError(
                f"The driver was reloaded for the tests, and {seconds:.0f} s later {worse[0].rstrip('.')}; see "
                "hl-smi, and reboot the node if it stays so."
            )
        sleep(_POLL_S)


def _reload(release: str, run: Run, kernel_root: str, parameters: Sequence[str]) -> None:
    row, before = find_release(release), gather(run, kernel_root)
    for name in loaded_modules(row.unload_order, kernel_root):
        unload(name, run)
    for name in row.modules:
        if name == DRIVER and parameters:
            done = run(["modprobe", name, *parameters])
            if done.rc != 0:
                raise GaudiError(f"modprobe {name} {' '.join(parameters)} failed: {last_line(done.stderr)}.")
        else:
            load(name, run)
    wait_until_up(before, lambda: gather(run, kernel_root))
