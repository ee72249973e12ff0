# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training of four ranks on two named nodes over gloo, slowed down by known causes: for ``profile_verdicts``.

What is injected is clocked where it is injected. A network takes its time on a thread of its own, as one does, and a
slow link makes the exchange and its own transfers slower by the same factor.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import torch
import torch._dynamo
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.profiler.profiler import GaudiProfiler

RANKS, NODES, SLOW_RANK, SLOW_NODE = 4, ("n0", "n1"), 1, "n1"
# What a sound network takes for an exchange, and for what the links are timed with between two nodes.
NETWORK, LINK = 0.002, 0.010
LINK_FACTOR = 4.0
BEFORE, CLOCKED = 5, 20


@dataclass
class Faults:
    """Seconds a step of each cause; where ``rank`` sleeps is a part of the step.

    The others are what a verdict advises: processes that read ahead, batches that are so many times as large, so many
    passes for each exchange of gradients, and shapes that are padded.
    """

    seconds: Mapping[str, float]
    rank_sleeps_in: str = "backward"
    workers: int = 0
    larger: int = 1
    passes: int = 1
    padded: bool = False
    spent: dict[str, float] = field(default_factory=dict)

    def clocked(self, cause: str, body: Callable[[], object]) -> None:
        begun = time.perf_counter()
        body()
        self.spent[cause] = self.spent.get(cause, 0.0) + time.perf_counter() - begun

    def sleep(self, cause: str) -> None:
        self.clocked(cause, lambda: time.sleep(self.seconds[cause]))

    def of_rank(self, rank: int) -> list[str]:
        found = ["slow rank"] if rank == SLOW_RANK else []
        found += ["slow node"] if NODES[rank * len(NODES) // RANKS] == SLOW_NODE else []
        return [cause for cause in found if cause in self.seconds]

    @property
    def exchange(self) -> float:
        """With a slow link all of it is slower."""
        sound = self.seconds.get("communication", NETWORK)
        return sound * self.link_factor

    @property
    def link_factor(self) -> float:
        return self.seconds.get("slow link", 1.0)


class Unobserved:
    """In the place of a profiler: as many steps, and nothing that looks at them."""

    def __init__(self) -> None:
        self._steps = 0

    def __enter__(self) -> Unobserved:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    @property
    def done(self) -> bool:
        return self._steps >= BEFORE + CLOCKED + 4

    def step(self) -> None:
        self._steps += 1


class _Sleeps(torch.autograd.Function):
    """In the backward pass."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, body: Callable[[], None]) -> torch.Tensor:
        context.body = body
        return tensor * 1

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        context.body()
        return gradients[0], None


class _Batches(torch.utils.data.IterableDataset[torch.Tensor]):
    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __iter__(self) -> Iterator[torch.Tensor]:
        while True:
            if "data" in self._faults.seconds:
                self._faults.sleep("data")
            yield torch.ones(8192 * self._faults.larger, 256)


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


def loop(
    rank: int,
    faults: Faults,
    profiler: GaudiProfiler | Unobserved,
    around: Callable[[torch.nn.Module], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
) -> float:
    """Seconds a clocked step. ``around`` is entered for each step, with the model."""
    # As a launch binds them: where the kernel moves them about, ranks without a fault differ by a fifth on few cores.
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    layers = [layer for _number in range(2) for layer in (torch.nn.Linear(256, 256), torch.nn.GELU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    model.register_comm_hook(faults.exchange, _exchange)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # It would otherwise stop after eight, and run the rest as it is.
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10_000
    compiled = torch.compile(lambda tensor: tensor * 2, backend=_backend(faults), dynamic=False)
    large = torch.ones(1 << 22)
    batches = torch.utils.data.DataLoader(_Batches(faults), batch_size=None, num_workers=faults.workers)
    begun = ended = 0.0
    with profiler:
        for number, batch in enumerate(batches):
            if number == BEFORE:
                begun = time.perf_counter()
                faults.spent.clear()
            if number == BEFORE + CLOCKED:
                ended = time.perf_counter()
                told = dict(faults.spent)
            exchanged = number % faults.passes == faults.passes - 1
            with around(model), contextlib.nullcontext() if exchanged else model.no_sync():
                _step(rank, faults, model(batch), number, compiled, large)
                optimizer.step()
            profiler.step()
            if profiler.done:
                break
    faults.spent = told
    return (ended - begun) / CLOCKED


def _step(rank: int, faults: Faults, output: torch.Tensor, number: int, compiled: Any, large: torch.Tensor) -> None:
    mine = faults.of_rank(rank)
    if "host" in faults.seconds:
        faults.sleep("host")
    if "compile" in faults.seconds:
        faults.clocked("compile", lambda: compiled(torch.ones(2 if faults.padded else number + 2)))
    if "memory" in faults.seconds:
        faults.clocked("memory", lambda: _move(large, faults.seconds["memory"]))

    def sleep() -> None:
        for cause in mine:
            faults.sleep(cause)

    if faults.rank_sleeps_in == "forward":
        sleep()
        output.sum().backward()
    else:
        _Sleeps.apply(output, sleep).sum().backward()  # type: ignore[no-untyped-call]


def _move(large: torch.Tensor, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        large.clone()


def _exchange(delay: float, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    buffer = bucket.buffer().div_(RANKS)
    work = torch.distributed.all_reduce(buffer, async_op=True)
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()

    def arrive() -> None:
        work.wait()
        time.sleep(delay)
        future.set_result(buffer)

    threading.Thread(target=arrive, daemon=True).start()
    return future


# DDP compares them with its own, and they are texts here.
_exchange.__annotations__ = {
    "bucket": torch.distributed.GradBucket,
    "return": torch.futures.Future[torch.Tensor],
}


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


def _backend(faults: Faults) -> Callable[..., Any]:
    def compile_slowly(graph: Any, _inputs: Any) -> Any:
        time.sleep(faults.seconds.get("compile", 0.0))
        return graph.forward

    return compile_slowly


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
