# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The shared nodes with a real Slurm on them."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, sandbox


@pytest.fixture(scope="session")
def installed() -> Host:
    """node1, the controller."""
    sandbox("slurm")
    return hosts("node1")["node1"]
