# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.podman import podman
from tests.sandbox_jobs import NODES, TRAINEE
from tests.sandbox_nodes import SANDBOX


@pytest.fixture(scope="session", autouse=True)
def trainee() -> None:
    """The script that the jobs run, on every node."""
    for node in NODES:
        podman("cp", str(Path(__file__).with_name("trainee.py")), f"{SANDBOX}-{node}:{TRAINEE}")
