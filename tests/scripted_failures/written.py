# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted failure as files: each node's agent log and its ranks' logs, in the forms of torch 2.13 and Open MPI."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.rank_logs import Exit

from tests.scripted_failures.model import MPIRUN, TORCHRUN, Case, Death
from tests.scripted_failures.raised import BEGUN
from tests.scripted_failures.words import FOLLOW

# How much later than the first death a rank is lost by the others of its node, and by those of other nodes.
NEXT_S, FAR_S = 0.2, 0.9
API = "torch/distributed/elastic/multiprocessing/api.py"
LINE = b"step 12 loss 2.31 and some more words of a training that says a lot\n"
ENTRY = """\
[{number}]:
  time      : {day}_{clock}
  host      : {node}
  rank      : {rank} (local_rank: {local})
  exitcode  : {code} (pid: {pid}){signal}
  error_file: {file}
  traceback : {traceback}
"""


def deaths(case: Case) -> dict[int, Death]:
    """Of all ranks; those that the case does not name lose the first one, or are told by their agent."""
    first = min(case.deaths, key=lambda rank: case.deaths[rank].after)
    found = dict(case.deaths)
    for rank in range(case.nodes * case.per_node):
        far = case.node_of(rank) != case.node_of(first)
        follower = FOLLOW[case.follow](rank)
        found.setdefault(rank, replace(follower, after=FAR_S if far else NEXT_S, told=follower.told or rank % 2 == 0))
    return found


def of_node(case: Case, node: str) -> dict[int, Death]:
    return {rank: death for rank, death in sorted(deaths(case).items()) if case.node_of(rank) == node}


def gone(case: Case, node: str) -> dict[int, Exit]:
    """By local rank, what a supervisor has seen of ranks that ended by themselves, by one clock."""
    found = of_node(case, node)
    return {
        rank % case.per_node: Exit(BEGUN + death.after, ended_well=death.code == 0)
        for rank, death in found.items()
        if not death.told
    }


def write(case: Case, place: Path) -> dict[str, JobPaths]:
    """The files of each node below ``place``; by node where they are."""
    names = [f"node{number + 1}" for number in range(case.nodes)]
    places = {name: JobPaths("demo", str(place / name / "state"), str(place / name / "log")) for name in names}
    for name, paths in places.items():
        for directory in (paths.control, paths.agent_logs, paths.logs):
            Path(directory).mkdir(parents=True)
        engine = "slurm" if case.launcher and case.engine == TORCHRUN else case.engine
        about = {"engine": engine, "hosts": names, "processes_per_node": case.per_node, "host": name}
        Path(paths.description).write_text(json.dumps(about), encoding="utf-8")
        if case.engine == MPIRUN:
            text = _mpirun(case) if name == names[0] else ""
        else:
            _write_ranks(case, name, Path(paths.ranks) / "none_x/attempt_0")
            text = agent_output(case, name)
            if case.launcher and name == names[0]:
                Path(paths.logs, "slurm-12.log").write_text(case.launcher, encoding="utf-8")
                os.utime(f"{paths.logs}/slurm-12.log", (BEGUN + 1, BEGUN + 1))
        Path(paths.agent_log).write_text(text, encoding="utf-8")
    return places


def _write_ranks(case: Case, node: str, attempt: Path) -> None:
    for rank, death in of_node(case, node).items():
        directory = attempt / str(rank % case.per_node)
        directory.mkdir(parents=True)
        with (directory / "stderr.log").open("wb") as file:
            if case.repeated and rank in case.deaths:
                piece = LINE * 20000
                for _piece in range(case.repeated // len(piece) + 1):
                    file.write(piece)
            file.write(death.stderr.encode())
        (directory / "stdout.log").write_text(death.stdout, encoding="utf-8")
        if death.error:
            (directory / "error.json").write_text(death.error, encoding="utf-8")


def agent_output(case: Case, node: str) -> str:
    """The agent's output: whom it told to go, which rank it saw first, and its table."""
    own, skew = of_node(case, node), case.skew.get(node, 0.0)
    if node in case.silent:
        return "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4700 got signal: 15\n"
    failed = {rank: death for rank, death in own.items() if death.code}
    if not failed:
        return ""
    order = sorted(failed, key=lambda rank: (failed[rank].told, failed[rank].after))
    noticed = BEGUN + failed[order[0]].after + skew
    said = [
        f"W{_stamp(noticed)} 4700 {API}:1028] Sending process {pid_of(r)} closing signal SIGTERM"
        for r in own
        if own[r].told
    ]
    said += [
        f"E{_stamp(noticed + 0.1)} 4700 {API}:1002] failed (exitcode: {failed[rank].code}) local_rank: "
        f"{rank % case.per_node} (pid: {pid_of(rank)}) of binary: /opt/venv/bin/python"
        for rank in order[:1]
    ]
    entries = [_entry(case, rank, failed[rank], number, noticed) for number, rank in enumerate(order)]
    table = f"/opt/train/train.py FAILED\n{'-' * 60}\nFailures:\n{''.join(entries[1:])}{'-' * 60}\n"
    return "\n".join([*said, f"{table}Root Cause (first observed failure):\n{entries[0]}{'=' * 60}\n"])


def _entry(case: Case, rank: int, death: Death, number: int, noticed: float) -> str:
    about = json.loads(death.error)["message"]["extraInfo"] if death.error else {}
    when = time.localtime(int(about.get("timestamp", noticed)))
    plain = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    return ENTRY.format(
        number=number,
        day=time.strftime("%Y-%m-%d", when),
        clock=time.strftime("%H:%M:%S", when),
        node=case.node_of(rank),
        rank=rank,
        local=rank % case.per_node,
        code=death.code,
        pid=pid_of(rank),
        signal=f"  (SIG {-death.code})" if death.code < 0 else " ",
        file="/logs/error.json" if death.error else "<N/A>",
        traceback=about.get("py_callstack", plain).replace("\n", "\n  "),
    )


def _mpirun(case: Case) -> str:
    """One log of all ranks, as ``--tag-output`` writes it, with mpirun's own words at its end."""
    said = [
        f"[1,{rank}]<stderr>:{line}"
        for rank, death in sorted(deaths(case).items())
        for line in death.stderr.splitlines()
    ]
    return "\n".join([*said, "-" * 74, case.launcher])


def pid_of(rank: int) -> int:
    return 4710 + rank


def _stamp(when: float) -> str:
    day = time.localtime(when)
    return f"{time.strftime('%m%d %H:%M:%S', day)}.{int(when % 1 * 1e6):06d}"


def root_causes(case: Case) -> Mapping[str, int]:
    """The rank that each node's torchrun calls the root cause: the earliest in whole seconds, then the first seen."""
    found = {}
    for number in range(case.nodes):
        node = f"node{number + 1}"
        failed = {rank: death for rank, death in of_node(case, node).items() if death.code}
        if failed and node not in case.silent:
            order = {rank: (recorded_second(case, rank), death.told, death.after) for rank, death in failed.items()}
            found[node] = min(order, key=order.__getitem__)
    return found


def recorded_second(case: Case, rank: int) -> int:
    """When torchrun says that a rank failed: by its error file, else when the agent saw its first rank gone."""
    node = case.node_of(rank)
    failed = {one: death for one, death in of_node(case, node).items() if death.code}
    if failed[rank].error:
        return int(json.loads(failed[rank].error)["message"]["extraInfo"]["timestamp"])
    return int(BEGUN + min(death.after for death in failed.values()) + case.skew.get(node, 0.0))
