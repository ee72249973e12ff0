# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""TraceML's verdict on a training that is slowed down by the same causes: for ``profile_verdicts --traceml DIR``.

``DIR`` is where ``pip install --target DIR traceml-ai`` put it. Its words are read in its favor: time that it cannot
attribute counts as host and as compile, and a slow node is named where it names any of that node's ranks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Mapping, Sequence

from benchmarks.profile_faults import RANKS, Faults

FAULTS = "GAUDI3_SCALE_BENCHMARK_FAULTS"
"""The faults of the ranks of this program, which TraceML's launcher starts."""
MEANT = {"INPUT_BOUND": ("data",), "RESIDUAL_HEAVY": ("host", "compile"), "H2D_BOUND": ("memory",)}
OF_RANKS = {"slow rank": {1}, "slow node": {2, 3}}


def rival_words(faults: Faults, traceml: Path, directory: Path) -> set[str]:
    """What it says of a training with ``faults``, in our words. RuntimeError where it did not run."""
    program = [sys.executable, str(traceml / "bin" / "traceml"), "run", f"--nproc-per-node={RANKS}"]
    told = {FAULTS: json.dumps(asdict(faults)), "PYTHONPATH": os.pathsep.join([str(traceml), str(Path.cwd())])}
    ended = subprocess.run(
        [*program, f"--logs-dir={directory}", "--run-name=injected", __file__],
        env={**os.environ, **told},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    found = sorted(directory.rglob("final_summary.json"))
    if ended.returncode or not found:
        raise RuntimeError(f"TraceML ended with status {ended.returncode}:\n{ended.stdout[-2000:]}")
    return words_of(json.loads(found[0].read_text(encoding="utf-8")), set(faults.seconds))


def words_of(summary: Mapping[str, Any], injected: set[str]) -> set[str]:
    """The causes that it says; of words that mean one or another of ours, the injected one."""
    words: set[str] = set()
    for issue in _issues(summary):
        kind, ranks = str(issue.get("kind")), set(issue.get("ranks") or ())
        if kind.endswith("STRAGGLER"):
            named = {word for word, theirs in OF_RANKS.items() if ranks & theirs}
            words |= (named & injected) or {"a wrong name"}
        elif kind in MEANT:
            words |= (set(MEANT[kind]) & injected) or {MEANT[kind][0]}
    return words


def _issues(summary: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    step_time = summary.get("step_time", {})
    issues: list[Mapping[str, Any]] = list(step_time.get("issues") or [])
    return [*issues, step_time.get("diagnosis") or {}]


def _rank() -> None:
    """One rank, below TraceML's launcher."""
    import torch
    import torch.distributed
    import traceml_ai  # type: ignore[import-not-found]

    from benchmarks.profile_loop import Unobserved, loop

    traceml_ai.init(mode="auto")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    loop(torch.distributed.get_rank(), Faults(**json.loads(os.environ[FAULTS])), Unobserved(), traceml_ai.trace_step)
    # The exchange of another rank may be under way.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    _rank()
