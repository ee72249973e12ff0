# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The driver loaded anew with ``timeout_locked=0``, which the HBM tests want on Gaudi 2, and as it was before.

A mark is on the disk while it is loaded so: a run that was cut off is followed by one that puts it back first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._host.kernel.modules import load, loaded_modules, unload
from gaudi3_scale.core._node.commands import Run, last_line
from gaudi3_scale.core._releases.lookup import find_release

DRIVER = "habanalabs"
UNLOCKED = "timeout_locked=0"


def load_unlocked(release: str, run: Run, mark: str, kernel_root: str) -> None:
    """Raises GaudiError where the driver cannot be unloaded or loaded."""
    Path(mark).touch()
    _reload(release, run, kernel_root, [UNLOCKED])


def put_back(release: str, run: Run, mark: str, kernel_root: str) -> None:
    """As it is loaded at boot; does nothing where it already is."""
    if Path(mark).exists():
        _reload(release, run, kernel_root, [])
        Path(mark).unlink()


def _reload(release: str, run: Run, kernel_root: str, parameters: Sequence[str]) -> None:
    row = find_release(release)
    for name in loaded_modules(row.unload_order, kernel_root):
        unload(name, run)
    for name in row.modules:
        if name == DRIVER and parameters:
            done = run(["modprobe", name, *parameters])
            if done.rc != 0:
                raise GaudiError(f"modprobe {name} {' '.join(parameters)} failed: {last_line(done.stderr)}.")
        else:
            load(name, run)
