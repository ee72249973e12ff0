# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""HCCL's wrapper of libfabric: without it HCCL uses no network of the host."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run, last_line

WRAPPER = "libhccl_ofi_wrapper.so"
# The operator's option with its sources.
ARCHIVE = "gaudi_fabric_ofi_wrapper_archive"
# Where HCCL looks for it.
VENDOR_LIBRARIES = "usr/lib/habanalabs"


def wrapper_file(root: str) -> Path:
    """Where it is, or would be."""
    return Path(root, VENDOR_LIBRARIES, WRAPPER)


def put_wrapper(built: Path, target: Path) -> None:
    """In one step, with its mode: HCCL finds the one before it or this one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{WRAPPER}")
    shutil.copy(built, fresh)
    fresh.replace(target)


def tell_loader(run: Run) -> None:
    """Have the loader find what was put in its place, once that is on the disk."""
    os.sync()
    done = run(["ldconfig"])
    if done.rc != 0:
        raise GaudiError(f"ldconfig failed: {last_line(done.stderr)!r:.200}; repair it, and run again.")
