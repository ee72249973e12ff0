# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm's memory of a node, by lines of a real slurmd and scontrol 22.05."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.memory import left_for_jobs
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.slurm_memory import (
    SlurmMemory,
    read_slurm_memory,
)

SLURMD = (
    "NodeName=node1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=24105\nUpTime=0-1\n"
)
NODE = (
    "NodeName=node1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=6.29 Gres=hpu:8 "
    "NodeAddr=10.203.80.11 NodeHostName=node1 Version=22.05.8 RealMemory=24076 AllocMem=0 FreeMem=9182 Sockets=8 "
    "Boards=1{more} State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 CfgTRES=cpu=8,mem=24076M,billing=8\n"
)


@pytest.mark.parametrize(
    ("slurmd", "scontrol", "memory"),
    [
        (SLURMD, NODE.format(more=""), SlurmMemory("node1", 24076, 0)),
        (SLURMD, NODE.format(more=" MemSpecLimit=4096"), SlurmMemory("node1", 24076, 4096)),
        (SLURMD, "Node node1 not found\n", None),
        (SLURMD, None, None),
        (None, NODE.format(more=""), None),
    ],
)
def test_what_slurm_says(slurmd: str | None, scontrol: str | None, memory: SlurmMemory | None) -> None:
    def run(
        argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        text = {"slurmd": slurmd, "scontrol": scontrol, "systemctl": None}[argv[0]]
        assert argv[0] != "scontrol" or argv[-1] == "node1"
        return CommandResult(127, "", "") if text is None else CommandResult(0, text, "")

    assert read_slurm_memory(run) == memory


@pytest.mark.parametrize(
    ("given", "left"),
    [((1031698, 17601, 2048), 996496), ((1024, 0, 2048), 1024), ((None, 1, 2048), None), ((1024, None, 2048), None)],
)
def test_memory_beside_the_huge_pages(given: tuple[int | None, int | None, int | None], left: int | None) -> None:
    assert left_for_jobs(*given) == left
