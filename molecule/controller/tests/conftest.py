# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share: nodes with all layers, and a short training that does not end by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import ROOT, ready_for_jobs

TRAINEE = ROOT / "molecule" / "surviving" / "tests" / "trainee.py"


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    return ready_for_jobs(tmp_path_factory.mktemp("layers"))


@pytest.fixture(scope="session")
def job(nodes: dict[str, Host]) -> dict[str, Any]:
    """A job of a user's own program over both nodes, which goes on for longer than any test waits."""
    for host in nodes.values():
        host.check_output(f"mkdir -p /srv && cat > /srv/trainee.py <<'END'\n{TRAINEE.read_text()}\nEND")
    return {
        "gaudi_training_command": ["/srv/trainee.py", "5000", "0.2"],
        "gaudi_training_processes_per_node": 1,
        "gaudi_training_follow_interval": 1,
        "gaudi_training_stop_timeout": 20,
    }


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    return {"gaudi_report_target": str(tmp_path / "reports")}
