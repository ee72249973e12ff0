# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where the node's /proc, /sys and /dev/accel are."""

from __future__ import annotations

import os
from pathlib import Path

from .._errors import GaudiError

VARIABLE = "GAUDI3_SCALE_KERNEL_ROOT"


def kernel_tree() -> str:
    """The directory that holds ``proc``, ``sys`` and ``dev`` of the kernel to look at: ``/``.

    The environment variable ``GAUDI3_SCALE_KERNEL_ROOT`` names another one. A container of a test sets it, whose
    /proc, /sys and /dev/accel are not those of a node with cards; a server has none. Modules of root have the
    environment of root, which neither a job's account nor its files can change. Raises GaudiError for a path that
    depends on where a process stands.
    """
    path = os.environ.get(VARIABLE) or "/"
    if not Path(path).is_absolute():
        raise GaudiError(
            f"{VARIABLE}={path!r} is not an absolute path; unset it, as on every server, or begin it with /."
        )
    return path
