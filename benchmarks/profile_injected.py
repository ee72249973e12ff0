# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training of four ranks on two named nodes over gloo, slowed down by known causes: for ``profile_verdicts``.

What is injected is clocked where it is injected. A network takes its time on a thread of its own, as one does, and a
slow link makes the exchange and its own transfers slower by the same factor.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed

from benchmarks.profile_faults import BEFORE, CLOCKED, LINK, NODES, RANKS, Faults
from benchmarks.profile_loop import loop
from gaudi3_scale.profiler.profiler import GaudiProfiler


@dataclass(frozen=True)
class Trained:
    """Seconds a step, and the part of it that each cause took, as injected."""

    seconds: float
    causes: dict[str, float]


def train(faults: Faults, directory: Path) -> Trained:
    """The records lie in ``directory``."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    port = _free_port()
    ranks = [context.Process(target=_rank, args=(rank, port, faults, directory, answers)) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    found = _answers(answers, ranks)
    for rank in ranks:
        rank.join()
    seconds = sum(one["seconds"] for one in found) / RANKS
    causes = {cause: max(one.get(cause, 0.0) for one in found) / seconds for cause in faults.seconds}
    # What the exchange costs with sound links, and what the slow one adds.
    if "communication" in causes:
        causes["communication"] = faults.seconds["communication"] / seconds
    if "slow link" in causes:
        causes["slow link"] = faults.exchange * (1 - 1 / faults.link_factor) / seconds
    return Trained(seconds, causes)


def _answers(answers: Any, ranks: list[Any]) -> list[dict[str, float]]:
    """Of each rank. RuntimeError where one has failed."""
    found: list[dict[str, float]] = []
    while len(found) < RANKS:
        try:
            found.append(answers.get(timeout=2))
        except queue.Empty:
            if any(rank.exitcode not in (None, 0) for rank in ranks):
                for rank in ranks:
                    rank.kill()
                raise RuntimeError("a rank has failed; its traceback is above") from None
    return found


def _rank(rank: int, port: int, faults: Faults, directory: Path, answers: Any) -> None:
    local = RANKS // len(NODES)
    places = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank % local, "LOCAL_WORLD_SIZE": local}
    os.environ.update({name: str(value) for name, value in places.items()})
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GAUDI3_SCALE_NODE": NODES[rank // local]})
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    _throttle_links(rank, faults)
    profiler = GaudiProfiler(
        ("cpu",) if rank == 0 else (),
        schedule_wait=BEFORE,
        schedule_clocked=CLOCKED,
        directory=directory,
        links=True,
        device=torch.device("cpu"),
    )
    seconds = loop(rank, faults, profiler)
    torch.distributed.barrier()
    answers.put({"seconds": seconds, **{cause: spent / CLOCKED for cause, spent in faults.spent.items()}})
    answers.close()
    answers.join_thread()
    torch.distributed.destroy_process_group()
    os._exit(0)


def _throttle_links(rank: int, faults: Faults) -> None:
    """What comes from the other node."""
    local = RANKS // len(NODES)
    if rank % local:
        return
    seconds = LINK * (faults.link_factor if rank == local else 1.0)
    receive = torch.distributed.irecv

    class Throttled:
        def __init__(self, work: Any) -> None:
            self._work = work

        def wait(self) -> None:
            self._work.wait()
            time.sleep(seconds)

    torch.distributed.irecv = lambda *given, **named: Throttled(receive(*given, **named))  # type: ignore[assignment]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
