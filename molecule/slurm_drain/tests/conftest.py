# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The shared nodes with a real Slurm on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import testinfra
from testinfra.host import Host

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def install_slurm() -> Callable[[], None]:
    def install() -> None:
        command = [sys.executable, "-m", "sandbox", "slurm", "--name", os.environ["GAUDI_SANDBOX"]]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    return install


@pytest.fixture(scope="session")
def installed(install_slurm: Callable[[], None]) -> Host:
    """node1, the controller."""
    install_slurm()
    host: Host = testinfra.get_host(
        "ansible://node1",
        ansible_inventory=str(ROOT / "inventories" / "sandbox"),
        ssh_config=str(ROOT / ".config" / "molecule" / "ssh_config"),
        sudo=True,
    )
    return host
