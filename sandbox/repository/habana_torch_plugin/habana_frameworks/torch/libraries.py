# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated. The real bridge loads the vendor's libraries from where the environment says that they are."""

import os
from pathlib import Path

PLACES = (
    "GC_KERNEL_PATH",
    "HABANA_SCAL_BIN_PATH",
    "HABANA_PLUGINS_LIB_PATH",
    "RDMA_CORE_ROOT",
    "RDMA_CORE_LIB",
    "DATA_LOADER_AEON_LIB_PATH",
)


def load() -> None:
    """Raises ImportError, as for a library that is not found, where a place is not named or nothing is there."""
    for name in PLACES:
        places = [place for place in os.environ.get(name, "").split(":") if place]
        absent = [place for place in places if not Path(place).exists()]
        if absent or not places:
            file = absent[0] if absent else f"${name}"
            raise ImportError(f"{file}: cannot open shared object file: No such file or directory ({name}, simulated)")
