# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share: the training stack and programs on both nodes, and the site's images."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox_jobs import podman
from tests.sandbox_nodes import SANDBOX, run
from tests.sandbox_programs import bring_programs
from tests.site_images import make_images

NODES = ["node1", "node2"]


@pytest.fixture(scope="session", autouse=True)
def nodes(tmp_path_factory: pytest.TempPathFactory) -> None:
    stack = run(tmp_path_factory.mktemp("stack"), "venv")
    assert stack.status == "successful", stack.stdout.read()[-4000:]
    bring_programs(NODES)
    for node in NODES:
        podman("cp", str(Path(__file__).with_name("counting.py")), f"{SANDBOX}-{node}:/srv/counting.py")
    make_images()
