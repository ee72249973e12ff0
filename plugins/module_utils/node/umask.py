# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files that others than root have to read, whatever root's own umask is."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def readable_by_all() -> Iterator[None]:
    """What is made meanwhile, also by programs that are run, can be read by every user."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)
