# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Show the drivers
      gaudi3.scale.report:
        title: Drivers
        columns: [node, driver]
        rows: [{node: gaudi-01, driver: 1.24.1}]
        notes: [a note]
        sections:
          - title: Group 1
            columns: [what]
            rows: [{what: kernel}]
            notes: [a second note]
        data: {anything: [1]}
        path: PATH
"""


@pytest.fixture
def play(tmp_path):
    def run(*arguments: str) -> subprocess.CompletedProcess:
        playbook = tmp_path / "play.yml"
        playbook.write_text(PLAYBOOK.replace("PATH", str(tmp_path / "reports" / "drivers")))
        ansible = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.run(
            [ansible, "-i", "localhost,", "-c", "local", playbook, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_table_is_printed_and_kept_as_page_and_json(play, tmp_path):
    run = play()
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert "node      driver" in lines
    assert "gaudi-01  1.24.1" in lines
    assert lines.index("Group 1") < lines.index("kernel") < lines.index("  a second note")
    assert "changed=0" in lines[-1] or "changed=0" in lines[-2]
    assert "gaudi-01" in (tmp_path / "reports" / "drivers.html").read_text()
    kept = json.loads((tmp_path / "reports" / "drivers.json").read_text())
    assert kept["rows"] == [{"node": "gaudi-01", "driver": "1.24.1"}]
    assert kept["data"] == {"anything": [1]}
    assert [section["title"] for section in kept["sections"]] == ["Group 1"]


def test_check_mode_prints_and_writes_nothing(play, tmp_path):
    run = play("--check")
    assert "gaudi-01  1.24.1" in run.stdout.splitlines()
    assert not (tmp_path / "reports").exists()
