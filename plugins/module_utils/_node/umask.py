# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files that others than root have to read, and files that nobody else may, whatever one's own umask is."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def readable_by_all() -> Iterator[None]:
    """What is made meanwhile, also by programs that are run, can be read by every user."""
    with _umask(0o022):
        yield


@contextmanager
def readable_by_owner() -> Iterator[None]:
    """What is made meanwhile, also by programs that are run, can be read by its owner alone."""
    with _umask(0o077):
        yield


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
