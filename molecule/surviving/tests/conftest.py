# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.podman import podman
from tests.sandbox_jobs import NODES, TRAINEE
from tests.sandbox_nodes import SANDBOX, run


@pytest.fixture(scope="session", autouse=True)
def trainee(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the jobs need on every node: the training stack, and the script that most run."""
    stack = run(tmp_path_factory.mktemp("stack"), "venv")
    assert stack.status == "successful", stack.stdout.read()[-4000:]
    for node in NODES:
        podman("cp", str(Path(__file__).with_name("trainee.py")), f"{SANDBOX}-{node}:{TRAINEE}")
