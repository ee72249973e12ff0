# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration of the sandbox's Slurm, as text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox.packages_in_nodes import WRITE
from sandbox.plan import Cards, plan
from sandbox.slurm import files

CLUSTER = plan("test", "10.0.0.0/24", 2, Cards("gaudi3", 4), "6g")


def test_every_node_computes_and_the_first_one_controls() -> None:
    lines = files(CLUSTER)["/etc/slurm/slurm.conf"].splitlines()
    assert "SlurmctldHost=node1(10.0.0.11)" in lines
    nodes = [line for line in lines if line.startswith("NodeName=")]
    assert nodes == [
        "NodeName=node1 NodeAddr=10.0.0.11 CPUs=4 RealMemory=6144 Gres=hpu:4 State=UNKNOWN",
        "NodeName=node2 NodeAddr=10.0.0.12 CPUs=4 RealMemory=6144 Gres=hpu:4 State=UNKNOWN",
    ]
    assert "PartitionName=gaudi Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP" in lines


def test_cards_are_a_number_without_device_files() -> None:
    assert files(CLUSTER)["/etc/slurm/gres.conf"] == "NodeName=node1,node2 Name=hpu Count=4\n"


@pytest.mark.parametrize(("memory", "mebibytes"), [("6g", 6144), ("512m", 512), ("1.5G", 1536), ("1073741824", 1024)])
def test_memory_is_the_nodes(memory: str, mebibytes: int) -> None:
    text = files(plan("test", "10.0.0.0/24", 1, Cards("gaudi3", 8), memory))["/etc/slurm/slurm.conf"]
    assert f" RealMemory={mebibytes} " in text


def test_a_file_is_written_once_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "slurm.conf"
    command = ["sh", "-c", WRITE, "sh", str(path)]
    said = [subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout for text in "aab"]
    assert said == ["changed\n", "", "changed\n"]
    assert path.read_text() == "b"
    assert list(path.parent.iterdir()) == [path]
