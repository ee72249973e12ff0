# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training that tells an MLflow in trouble each tenth step, beside one that tells nobody.

    python -m benchmarks.mlflow_outage [--blocks 40]

Steps are multiplications of matrices on one core, in blocks that take turns: with the logger and without it. The
server is down, hangs, answers late or refuses all the while, in a process of its own, and answers well only after the
end; then what was kept is sent, and counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from gaudi3_scale.core._model.mlflow_rest import ServerDownError
from gaudi3_scale.metrics.mlflow_logger import DIRECTORY, MlflowLogger, send_finished
from gaudi3_scale.metrics.mlflow_server import MlflowServer
from gaudi3_scale.metrics.spool import earlier
from tests.node_library import mlflow_stub

DOWN = "down"
MOODS = (DOWN, mlflow_stub.HANGS, mlflow_stub.SLOW, mlflow_stub.FAILS)
STEPS_OF_BLOCK, WIDTH = 20, 1024
# As often as the trainer does by itself.
EVERY = 10
# Of a server that answers nothing at the end.
LATEST_S = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=40, help="of each of the two, and of 20 steps (default: 40)")
    blocks = parser.parse_args().blocks
    torch.set_num_threads(1)
    for mood in MOODS:
        with tempfile.TemporaryDirectory() as directory:
            print(f"{mood:6}  {outage(mood, blocks, Path(directory))}", flush=True)


def outage(mood: str, blocks: int, job_dir: Path) -> str:
    """What a training of so many blocks of steps had of it."""
    with served(mlflow_stub.FAILS if mood == DOWN else mood) as (url, stub):
        asked = "http://127.0.0.1:9" if mood == DOWN else url
        logger = MlflowLogger(job_dir, "llama", MlflowServer({"MLFLOW_TRACKING_URI": asked}))
        told, alone, step = [], [], 0
        for _block in range(blocks):
            alone.append(timed_block(None, step))
            told.append(timed_block(logger, step))
            step += STEPS_OF_BLOCK
        began = time.monotonic()
        logger.close()
        ending = time.monotonic() - began
        stub.send(mlflow_stub.WELL)
        stub.recv()
        send_rest(job_dir, MlflowServer({"MLFLOW_TRACKING_URI": url}))
        stub.send("points")
        there = sorted(stub.recv())
    once = "each once" if there == list(range(0, step, EVERY)) else f"NOT each once: {len(there)} are there"
    # Of neighbors in time, so that what the machine does meanwhile is in both.
    ratio = statistics.median(one / other for one, other in zip(told, alone, strict=True))
    return f"a step takes {ratio - 1:+.2%}, the end {ending:.1f} s; afterwards {len(there)} points are there, {once}"


def timed_block(logger: MlflowLogger | None, step: int) -> float:
    """Seconds of its steps."""
    one = torch.ones(WIDTH, WIDTH)
    began = time.perf_counter()
    for number in range(step, step + STEPS_OF_BLOCK):
        torch.mm(one, one)
        if logger is not None and number % EVERY == 0:
            logger.log({"loss": 1.0 / (number + 1), "tokens_per_second": 5.0}, number)
    return time.perf_counter() - began


def send_rest(job_dir: Path, server: MlflowServer) -> None:
    """As the next start of the job does."""
    end = time.monotonic() + LATEST_S
    for path in earlier(job_dir / DIRECTORY):
        while path.exists() and time.monotonic() < end:
            with suppress(ServerDownError):
                if send_finished(path, server):
                    break
            time.sleep(0.2)


@contextmanager
def served(mood: str) -> Iterator[tuple[str, Connection]]:
    """Its URL, and where it is told another mood, or asked for the steps that it has."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(mood, there), daemon=True)
    process.start()
    try:
        yield here.recv(), here
    finally:
        process.kill()
        process.join()


def serve(mood: str, told: Connection) -> None:
    """Until it is killed."""
    stub = mlflow_stub.MlflowStub()
    stub.mood = mood
    told.send(stub.url)
    while True:
        asked = told.recv()
        if asked == "points":
            found = [dict(point) for points in stub.points.values() for point in points]
            told.send([point["step"] for point in found if point["key"] == "loss"])
        else:
            stub.mood = asked
            told.send(True)


if __name__ == "__main__":
    main()
