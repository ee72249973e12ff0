# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A control group of version 1 in which the kernel ends what takes much memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/memory")
# A process in the group that takes more than it may have.
TAKE = "bytearray(400 << 20)"


@contextlib.contextmanager
def memory_group():
    """Its directory, named as a unit; the test is left out where this node has no such groups, or may make none."""
    group = V1 / f"gaudi3-scale-job-test-{os.getpid()}.service"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(40 << 20))
    except OSError as error:
        pytest.skip(f"no memory group of version 1 can be made here: {error}")
    with contextlib.suppress(OSError):
        (group / "memory.memsw.limit_in_bytes").write_text(str(40 << 20))
    try:
        yield group
    finally:
        group.rmdir()
