# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a real Slurm knows the files of a node's cards, which slurmd tells it some time after it has begun.

`scontrol show node` shows files of a card called ``gpu`` alone. Of any card, a job's own line has them.
"""

from __future__ import annotations

import shlex
import time

from testinfra.host import Host

LINE = "scontrol --details show job $SLURM_JOB_ID"


def wait_for_files(controller: Host, node: str, gres: str, seconds: float, around: str = "") -> None:
    """Return when a job of one card is told which it has; AssertionError with Slurm's words after so many seconds."""
    deadline = time.monotonic() + seconds
    job = f"cd /tmp && {around} srun --immediate=20 --nodelist={node} --gres={gres}:1 sh -c {shlex.quote(LINE)}"
    while "(IDX:" not in (told := controller.run(job)).stdout:
        assert time.monotonic() < deadline, f"{told.stdout}{told.stderr}"
        time.sleep(1)
