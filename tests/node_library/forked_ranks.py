# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks of the trainer without torchrun, for what is not about starting them.

Each is forked from one process that has imported the trainer, which costs a start no processor time: to import PyTorch
and Lightning takes seconds of it, in every rank and in every agent. Each is still a process of its own, which signals
reach and which ends.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import time
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Callable, Mapping, Sequence
from unittest import mock

from job_runs import files_of, free_port

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["gaudi3_scale.train", "gaudi3_scale.trainer.run", "transformers.trainer"])


def start_ranks(
    folders: list[Path],
    arguments: list[object],
    ranks: int = 1,
    variables: Mapping[str, str] | None = None,
    of_nodes: Sequence[list[object]] = (),
) -> list[BaseProcess]:
    """``ranks`` processes on each node, told apart by their folders; what they say is in ``RANK.log`` there.

    They have ``variables`` beside the environment in which the first of all ranks was forked. Nodes that share a
    folder are told apart by ``of_nodes``, more arguments for each.
    """
    return _start(_train, folders, ["gaudi3_scale.train", *arguments], ranks, variables, of_nodes)


def start_script(
    folder: Path, script: Path, *arguments: object, ranks: int = 2, variables: Mapping[str, str] | None = None
) -> list[BaseProcess]:
    """The ranks of one node, as of :func:`start_ranks`, which run a user's own script."""
    return _start(_run_script, [folder], [script, *arguments], ranks, variables)


def _start(
    body: Callable[[], None],
    folders: list[Path],
    words: list[object],
    ranks: int,
    variables: Mapping[str, str] | None,
    of_nodes: Sequence[list[object]] = (),
) -> list[BaseProcess]:
    _import_once()
    port, world = free_port(), ranks * len(folders)
    started = []
    for rank in range(world):
        node, local = divmod(rank, ranks)
        folder = folders[node]
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            "RANK": rank,
            "WORLD_SIZE": world,
            "LOCAL_RANK": local,
            "LOCAL_WORLD_SIZE": ranks,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            **files_of(folder),
            **(variables or {}),
        }
        reported = {name: str(value) for name, value in environment.items()}
        told = [*map(str, [*words, *(of_nodes[node] if of_nodes else ())])]
        process = _FORKED.Process(target=_rank, args=(body, told, reported, folder / f"{rank}.log"))
        process.start()
        started.append(process)
    return started


def ends_of(processes: list[BaseProcess], timeout: float = 120) -> list[int | None]:
    """Exit status of each; what takes longer is killed."""
    for process in processes:
        process.join(timeout)
        process.kill()
        process.join()
    return [process.exitcode for process in processes]


def said_in(directory: Path) -> str:
    """The last words of each rank, for the message of an assertion."""
    return "".join(log.read_text()[-3000:] for log in sorted(directory.rglob("*.log")))


def wait_until_stopped(process: BaseProcess, seconds: float = 120) -> bool:
    """Whether it is stopped, by SIGSTOP, before it ends. It is no child of this process, which nothing tells it."""
    deadline = time.monotonic() + seconds
    while process.is_alive():
        if Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return True
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return False


def _import_once() -> None:
    """One thread a rank, as torchrun has it where a node has several: read when PyTorch is imported."""
    with mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}):
        forkserver.ensure_running()


def _rank(body: Callable[[], None], words: list[str], environment: dict[str, str], log: Path) -> None:
    os.environ.update(environment)
    with log.open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    sys.argv = words
    body()


def _train() -> None:
    from gaudi3_scale import train

    train.main()


def _run_script() -> None:
    """As Python runs a script that it is given."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [str(Path(sys.argv[0]).parent), *filter(None, given)]
    runpy.run_path(sys.argv[0], run_name="__main__")
