# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built collection, installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .sandbox_nodes import ROOT


def install_collection(built: Path, target: Path | None = None) -> Path:
    """Build the collection into ``built``, and install it there or below ``target``, the path of collections."""
    target = target or built
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": "/nonexistent"}
    build = ["ansible-galaxy", "collection", "build", "--output-path", str(built)]
    subprocess.run(build, cwd=ROOT, env=environment, check=True, capture_output=True)
    (tarball,) = built.glob("*.tar.gz")
    install = ["ansible-galaxy", "collection", "install", "--offline", "--collections-path", str(target), str(tarball)]
    subprocess.run(install, cwd=built, env=environment, check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For scenarios that play from nothing else."""
    return install_collection(tmp_path_factory.mktemp("installed"))
