# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenarios' tests share."""

from __future__ import annotations

import pytest

from tests.long_rows import pytest_collection_modifyitems

__all__ = ["kernel", "pytest_collection_modifyitems"]


@pytest.fixture
def kernel() -> str:
    """Root of the simulated kernel's ``/proc`` and ``/sys`` on a node."""
    return "/var/lib/gaudi_simulator/kernel"
