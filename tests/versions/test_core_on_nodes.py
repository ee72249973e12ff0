# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The installed collection on nodes by the oldest and by the newest ansible-core that it is for.

``GAUDI_SANDBOX=NAME python -m pytest tests/versions`` needs:

- a sandbox of that name that is up, with two nodes: virgin ones take minutes, golden ones
  (``python -m sandbox up --name NAME --golden ANOTHER``) a fraction of that. ``site.yml`` is played on them, and a job
  of four ranks; they stay as these leave them;
- a Python for each ansible-core (scripts/ansible_cores.py), and a package index, from which ansible-core comes into an
  environment of its own below build/cores, once. The tests themselves keep the one of .venv.

``GAUDI_ANSIBLE_CORES="2.18 2.20"`` plays others. The last line says which were left out.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INVENTORY = ROOT / "inventories" / "sandbox"
NODES = ("node1", "node2")
PATIENCE_S = 1800.0
JOB = """
gaudi_training_model: {layers: 2, width: 64, heads: 2, sequence_length: 64}
gaudi_training_batch_size: 16
gaudi_training_max_steps: 20
gaudi_training_processes_per_node: 2
gaudi_training_follow_interval: 1
"""
RECAP = re.compile(r"^(\w+) +: ok=(\d+) +changed=(\d+) +unreachable=0 +failed=0 ", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run of a playbook: its exit status, the screen, and node -> how many results changed something."""

    status: int
    screen: str

    @property
    def changed(self) -> dict[str, int]:
        return {host: int(changed) for host, _ok, changed in RECAP.findall(self.screen) if host in NODES}


Play = Callable[..., Run]


@pytest.fixture(scope="module")
def play(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """A playbook of the collection, which this ansible-core has built and installed where nothing else is."""
    place = tmp_path_factory.mktemp("installed")
    given = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(place),
        "ANSIBLE_DEPRECATION_WARNINGS": "true",
        "ANSIBLE_NOCOLOR": "1",
    }

    def ran(*command: str, cwd: Path = ROOT) -> Run:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return Run(done.returncode, done.stdout)

    galaxy = (str(programs / "ansible-galaxy"), "collection")
    built = ran(*galaxy, "build", "--output-path", str(place))
    assert built.status == 0, built.screen
    (tarball,) = place.glob("*.tar.gz")
    installed = ran(*galaxy, "install", "--offline", "--collections-path", str(place), str(tarball), cwd=place)
    assert installed.status == 0, installed.screen
    given["ANSIBLE_CONFIG"] = str(place / "ansible_collections" / "gaudi3" / "scale" / "ansible.cfg")

    def played(name: str, *arguments: str) -> Run:
        kept = ("-e", f"gaudi_report_target={place / 'reports'}")
        playbook = (str(programs / "ansible-playbook"), "-i", str(INVENTORY), f"gaudi3.scale.{name}")
        run = ran(*playbook, *kept, *arguments, cwd=place)
        assert run.status == 0, run.screen[-8000:]
        assert "DEPRECATION" not in run.screen, run.screen
        assert {*run.changed} == {*NODES}, run.screen[-2000:]
        return run

    return played


def test_site_ends_and_a_second_run_changes_nothing(play: Play) -> None:
    play("site", "--check", "--diff")
    play("site")
    second = play("site")
    assert not any(second.changed.values()), second.screen[-8000:]


def test_a_job_trains_on_both_nodes(play: Play, programs: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    # An environment's directory begins with its core's version.
    name = f"core-{programs.parent.name.replace('.', '-')}"
    job.write_text(f"gaudi_training_name: {name}\ngaudi_training_restart: true\n{JOB}", encoding="utf-8")
    screen = play("launch_training", "-e", f"@{job}").screen
    assert "started, 4 rank(s) on 2 node(s)" in screen and f"Job {name}: succeeded" in screen, screen[-8000:]
    first, last = map(float, re.findall(r"first_loss ([\d.]+), last_loss ([\d.]+)", screen)[-1])
    assert last < first
