# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Versions of vLLM and its plug-in for Gaudi, and the releases that each was tested with."""

from __future__ import annotations

from collections.abc import Mapping

MATRIX = "vllm-gaudi docs/getting_started/compatibility_matrix.md"
MATRIX_READ = "2026-11-22"
# Version to the releases that it was tested with.
TESTED: Mapping[str, tuple[str, ...]] = {
    "0.11.2": ("1.22.2", "1.23.0"),
    "0.13.0": ("1.23.0",),
    "0.14.1": ("1.23.0",),
    "0.15.1": ("1.23.0",),
    "0.16.0": ("1.23.0",),
    "0.17.1": ("1.23.0", "1.24.0"),
    "0.19.0": ("1.24.0",),
    "0.19.1": ("1.24.0",),
    "0.21.0": ("1.24.0",),
    "0.24.0": ("1.24.1",),
    "0.26.0": ("1.24.1",),
}
