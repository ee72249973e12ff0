# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm's idea of a node's memory, beside the huge pages that no job gets as memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._node.check import Check
from .._node.commands import Run
from .._slurm.commands import call_slurm

_TIMEOUT_S = 20


@dataclass(frozen=True)
class SlurmMemory:
    """The node as Slurm has it; MiB, as in slurm.conf(5)."""

    node: str
    real: int
    spec_limit: int


def read_slurm_memory(run: Run) -> SlurmMemory | None:
    """What Slurm counts on here; None where no slurmd is, or nobody answers for this node.

    The controller is asked: a node may have no slurm.conf of its own (configless), or one that is not read yet.
    """
    described = call_slurm(["slurmd", "-C"], run, time_format="standard", timeout=_TIMEOUT_S)
    name = re.search(r"\bNodeName=(\S+)", described.stdout)
    if described.rc != 0 or name is None:
        return None
    argv = ["scontrol", "--oneliner", "show", "node", name[1]]
    shown = call_slurm(argv, run, time_format="standard", timeout=_TIMEOUT_S).stdout
    real = re.search(r"\bRealMemory=([0-9]{1,12})\b", shown)
    spec = re.search(r"\bMemSpecLimit=([0-9]{1,12})\b", shown)
    return SlurmMemory(name[1], int(real[1]), int(spec[1]) if spec else 0) if real else None


def slurm_check(slurm: SlurmMemory, left_mib: int) -> Check:
    """That Slurm gives jobs no memory that the huge pages have."""
    less = f" less MemSpecLimit={slurm.spec_limit}" if slurm.spec_limit else ""
    return Check(
        "Slurm memory",
        slurm.real - slurm.spec_limit <= left_mib,
        f"at most {left_mib} MiB for jobs in addition to the huge pages",
        f"RealMemory={slurm.real}{less}",
        f"set RealMemory={left_mib} for NodeName={slurm.node} in slurm.conf, or MemSpecLimit="
        f"{max(0, slurm.real - left_mib)} beside RealMemory={slurm.real}, and run `scontrol reconfigure`",
        advice=True,
    )
