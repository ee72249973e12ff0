# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""HCCL's wrapper of libfabric: without it HCCL uses no network of the host."""

from __future__ import annotations

from pathlib import Path

WRAPPER = "libhccl_ofi_wrapper.so"
# The operator's option with its sources.
ARCHIVE = "gaudi_fabric_ofi_wrapper_archive"
# Where HCCL looks for it.
VENDOR_LIBRARIES = "usr/lib/habanalabs"


def wrapper_file(root: str) -> Path:
    """Where it is, or would be."""
    return Path(root, VENDOR_LIBRARIES, WRAPPER)
