# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The loop of one rank that known causes slow down: for ``profile_injected`` and, with TraceML, ``profile_rival``."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, Callable, Iterator

import torch
import torch._dynamo
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

from benchmarks.profile_faults import BEFORE, CLOCKED, RANKS, Faults
from gaudi3_scale.profiler.profiler import GaudiProfiler


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


def _backend(faults: Faults) -> Callable[..., Any]:
    def compile_slowly(graph: Any, _inputs: Any) -> Any:
        time.sleep(faults.seconds.get("compile", 0.0))
        return graph.forward

    return compile_slowly
