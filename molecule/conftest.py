# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenarios' tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def kernel() -> str:
    """Root of the simulated kernel's ``/proc`` and ``/sys`` on a node."""
    return "/var/lib/gaudi_simulator/kernel"
