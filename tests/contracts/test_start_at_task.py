# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A run that begins in the middle has nothing of what came before: each task gets as far as its node, which is off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .checkout import ROOT

OFF = "node1 ansible_host=127.0.0.1 ansible_port=1 ansible_connection=ssh\n"


@pytest.mark.parametrize(
    ("playbook", "task"),
    [
        ("preflight", "Run the preflight checks"),
        ("host", "Configure the operating system"),
        ("driver", "Install the driver of the release"),
        ("containers", "Install the container runtime"),
        ("containers", "Register the runtime"),
        ("fabric", "Bring up the ports and report the network"),
        ("venv", "Install the operating system packages"),
        ("venv", "Create the training environment"),
        ("flags", "Set the environment flags of the Gaudi software"),
        ("verify", "Measure the node"),
    ],
)
def test_a_layer_can_be_begun_at_any_of_its_tasks(playbook: str, task: str, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(f"[gaudi]\n{OFF}", encoding="utf-8")
    command = [
        *(str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(tmp_path / "hosts")),
        *("-e", "gaudi_host_firewall=true", "--start-at-task", f"*{task}", str(ROOT / f"playbooks/{playbook}.yml")),
    ]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    screen = done.stdout + done.stderr
    assert "[UNREACHABLE]" in screen or "UNREACHABLE!" in screen, screen
    assert "unreachable=1" in screen and "failed=0" in screen, screen
