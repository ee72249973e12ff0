# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The training that is disturbed: ``program.py DIRECTORY SECONDS_A_STEP TIMEOUT CHECKPOINT_EVERY``, one
rank a node.

Its state is one number, kept in DIRECTORY every so many steps; whoever has the newest gives it to the others at the
start. Each finished step is a line of JSON in DIRECTORY/steps.jsonl. TIMEOUT is that of the process group, in seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def newest(kept: Path) -> int:
    """The last step that any of the nodes has kept."""
    mine = torch.tensor([json.loads(kept.read_text())["step"] if kept.exists() else 0])
    dist.all_reduce(mine, dist.ReduceOp.MAX)
    return int(mine)


def replace(path: Path, reported: dict[str, object]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(reported))
    new.replace(path)


def tell_supervisor(step: int, busy: float) -> None:
    """How far it is: to our supervisors, what fails soon after its start and has made no step fails at once again."""
    if "GAUDI3_SCALE_PROGRESS_DIR" in os.environ:
        path = Path(os.environ["GAUDI3_SCALE_PROGRESS_DIR"], f"{os.environ['LOCAL_RANK']}.json")
        own = {"rank": dist.get_rank(), "pid": os.getpid()}
        replace(path, {**own, "step": step, "time": time.time(), "busy_seconds": busy})


def heartbeat() -> Callable[[], None]:
    """What ft_launcher wants to be called at each step, by its own package; elsewhere it does nothing."""
    if "FT_RANK_MONITOR_IPC_SOCKET" not in os.environ:
        return lambda: None
    from nvidia_resiliency_ext.fault_tolerance import RankMonitorClient

    client = RankMonitorClient()
    client.init_workload_monitoring()
    beat: Callable[[], None] = client.send_heartbeat
    return beat


@record
def main() -> None:
    directory, pause, timeout, every = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    kept = directory / "kept.json"
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout))
    beat = heartbeat()
    step = newest(kept)
    with (directory / "steps.jsonl").open("a", buffering=1) as steps:
        while True:
            began = time.time()
            time.sleep(pause)
            shared, busy = torch.ones(1024), time.time() - began
            dist.all_reduce(shared)
            step += 1
            reported = {"time": time.time(), "step": step, "pid": os.getpid(), "ranks": int(shared[0])}
            steps.write(json.dumps(reported) + "\n")
            if step % every == 0:
                replace(kept, {"step": step})
            tell_supervisor(step, busy)
            beat()


if __name__ == "__main__":
    main()
