# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``modinfo``: the real one, asked about the simulated kernel's modules."""

from __future__ import annotations

import os

from .files import REAL_MODINFO, kernel_release


def main(arguments: list[str]) -> int:
    """Replace this process by modinfo for the simulated kernel, unless the caller names a kernel."""
    named = any(word in ("-k", "--set-version") or word.startswith("--set-version=") for word in arguments)
    kernel = [] if named else ["-k", kernel_release()]
    os.execv(REAL_MODINFO, ["modinfo", *kernel, *arguments])
