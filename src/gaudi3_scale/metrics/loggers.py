# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Metric lines in TensorBoard, Weights & Biases and MLflow as well, which can neither fail nor slow down the job.

MLflow's points go through a file (mlflow_logger.py). Each of the others is Lightning's logger in a thread of its own
behind a queue: what is slow there waits there, what is too much is dropped, and the first exception is told and ends
it.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import queue
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.extras import remedy
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.metrics.mlflow_logger import FAILED, FINISHED, MlflowLogger
from gaudi3_scale.metrics.mlflow_server import server_of

TENSORBOARD, WANDB, MLFLOW = "tensorboard", "wandb", "mlflow"
NAMES = (TENSORBOARD, WANDB, MLFLOW)
KEY = "WANDB_API_KEY"
# Lines that may wait for a logger, and the seconds that all of them get at the end for what is left.
MOST_WAITING = 1000
PATIENCE_S = 15.0
# Of a line, what is no curve.
NO_CURVE = ("step", "max_steps", "time", "ends_at")


class Sink(NamedTuple):
    """Where the numbers of a step go; ``finish`` writes what is left."""

    log: Callable[[Mapping[str, float], int], None]
    finish: Callable[[], None]


def choose_loggers(wish: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The loggers that ``--loggers`` names: auto is those that can be used here. GaudiError for one that cannot."""
    if wish == "none":
        return ()
    if wish == "auto":
        return tuple(name for name in NAMES if _missing(name, environment) is None)
    names = tuple(dict.fromkeys(wish.split(",")))
    for name in names:
        if name not in NAMES:
            raise GaudiError(f"--loggers {wish}: there is no {name!r}; give auto, none, or of {', '.join(NAMES)}.")
        missing = _missing(name, environment)
        if missing:
            raise GaudiError(f"--loggers {wish}: {missing}")
    return names


def _missing(name: str, environment: Mapping[str, str]) -> str | None:
    """Why it cannot be used here, as the rest of a sentence."""
    if name == MLFLOW:
        # By its REST interface: the package is not needed.
        try:
            server_of(environment)
        except GaudiError as error:
            return str(error)
        return None
    if importlib.util.find_spec(name) is None:
        return f"{name} is not installed; {remedy(name)}, or leave it out."
    if name == WANDB and not environment.get(KEY) and environment.get("WANDB_MODE") != "offline":
        return f"{KEY} is not set; set it for the job (gaudi_training_environment_files), or WANDB_MODE to offline."
    return None


@contextmanager
def logged(write: WriteLine, names: Sequence[str], job_dir: Path, start: int) -> Iterator[WriteLine]:
    """``write``, with the curves of each line given to the loggers too; at the end they get some seconds for what is
    left. ``start`` is the step that the run goes on from.
    """
    job = os.environ.get("GAUDI3_SCALE_JOB", job_dir.name)
    makers: dict[str, Callable[[], Sink]] = {
        TENSORBOARD: lambda: _tensorboard(job_dir, start),
        WANDB: lambda: _wandb(job_dir, job),
    }
    threads = [LoggerThread(name, makers[name]) for name in names if name in makers]
    mlflow = MlflowLogger(job_dir, job, server_of(os.environ)) if MLFLOW in names else None
    takers: list[LoggerThread | MlflowLogger] = [*threads, *([mlflow] if mlflow else [])]

    def write_and_log(kind: str, **fields: object) -> None:
        write(kind, **fields)
        step = fields.get("step")
        if takers and kind in ("step", "end") and isinstance(step, int):
            for taker in takers:
                taker.log(numbers_of(fields), step)

    status = FAILED
    try:
        yield write_and_log
        status = FINISHED
    finally:
        if mlflow:
            mlflow.close(status)
        deadline = time.monotonic() + PATIENCE_S
        # Each of them is closed, also behind one that could not be.
        closed = [thread.close(deadline) for thread in threads]
        if not all(closed):
            # A library's own exit handler may wait long for its server. Handlers run from the last to the first.
            atexit.register(_end_at_once)


def numbers_of(fields: Mapping[str, Any]) -> dict[str, float]:
    """The curves of a line: ``seconds/forward`` for what lies in ``seconds``."""
    found: dict[str, float] = {}
    for name, value in fields.items():
        if name in NO_CURVE or isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            found[name] = float(value)
        elif isinstance(value, Mapping):
            found.update({f"{name}/{part}": number for part, number in numbers_of(value).items()})
    return found


class LoggerThread:
    """One logger behind a queue; ``make`` may take long and may fail."""

    def __init__(self, name: str, make: Callable[[], Sink]) -> None:
        self._name = name
        self._make = make
        self._waiting: queue.Queue[tuple[Mapping[str, float], int] | None] = queue.Queue(MOST_WAITING)
        self._finished = False
        # A daemon: a logger that waits for a server does not keep the process from its end.
        self._thread = threading.Thread(target=self._run, name=f"{name} logger", daemon=True)
        self._thread.start()

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Returns at once."""
        try:
            self._waiting.put_nowait((numbers, step))
        except queue.Full:
            # The logger is behind, or has ended: the metric lines have it all.
            return

    def close(self, deadline: float) -> bool:
        """Let it write what is left, until ``deadline`` (monotonic); False where it could not."""
        if self._thread.is_alive():
            try:
                self._waiting.put(None, timeout=max(0.0, deadline - time.monotonic()))
                self._thread.join(max(0.0, deadline - time.monotonic()))
            except queue.Full:
                pass
        if self._thread.is_alive():
            self._tell("was still behind at the end; its last lines are in the metric lines alone")
        return self._finished

    def _run(self) -> None:
        try:
            sink = self._make()
            while (entry := self._waiting.get()) is not None:
                sink.log(*entry)
            sink.finish()
            self._finished = True
        # Also SystemExit, by which a library may mean to end the process.
        except BaseException as error:
            self._tell(f"is left out from here on: {type(error).__name__}: {_without_key(str(error))}")

    def _tell(self, what: str) -> None:
        sys.stderr.write(f"gaudi3_scale: {self._name} {what}\n")


def _end_at_once() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _without_key(text: str) -> str:
    key = os.environ.get(KEY)
    return (text.splitlines() or [""])[0].replace(key, "(not shown)") if key else (text.splitlines() or [""])[0]


def _tensorboard(job_dir: Path, start: int) -> Sink:
    from lightning.pytorch.loggers import TensorBoardLogger

    # Steps after the checkpoint that the run goes on from are made anew: purge_step takes them off the curves.
    logger = TensorBoardLogger(job_dir, name="tensorboard", version="", purge_step=start + 1)
    # It writes what waits every two minutes by itself.
    return Sink(lambda numbers, step: logger.log_metrics(dict(numbers), step), logger.experiment.close)


def _wandb(job_dir: Path, job: str) -> Sink:
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    # Each run of the job is one of W&B's in a group. What the ranks print stays here.
    settings = wandb.Settings(console="off", silent=True, init_timeout=PATIENCE_S)
    project = os.environ.get("WANDB_PROJECT", "gaudi3_scale")
    logger = WandbLogger(name=job, group=job, project=project, save_dir=job_dir, settings=settings)
    return Sink(lambda numbers, step: logger.log_metrics(dict(numbers), step), logger.experiment.finish)
