# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share: the built collection, installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sandbox_nodes import ROOT


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path that holds nothing but the installed collection."""
    target = tmp_path_factory.mktemp("installed")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": "/nonexistent"}
    build = ["ansible-galaxy", "collection", "build", "--output-path", str(target)]
    subprocess.run(build, cwd=ROOT, env=environment, check=True, capture_output=True)
    (tarball,) = target.glob("*.tar.gz")
    install = ["ansible-galaxy", "collection", "install", "--offline", "--collections-path", str(target), str(tarball)]
    subprocess.run(install, cwd=target, env=environment, check=True, capture_output=True)
    return target
