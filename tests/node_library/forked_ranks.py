# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks of the trainer without torchrun, for what is not about starting them.

Each is forked from one process that has imported the trainer, which costs a start no processor time: to import PyTorch
and Lightning takes seconds of it, in every rank and in every agent.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Mapping
from unittest import mock

from job_runs import files_of, free_port

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["gaudi3_scale.train", "gaudi3_scale.trainer.run"])


def start_ranks(
    folders: list[Path], arguments: list[object], ranks: int = 1, variables: Mapping[str, str] | None = None
) -> list[BaseProcess]:
    """``ranks`` processes on each node, told apart by their folders; what they say is in ``RANK.log`` there.

    They have ``variables`` beside the environment in which the first of all ranks was forked.
    """
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
        process = _FORKED.Process(target=_rank, args=(list(map(str, arguments)), reported, folder / f"{rank}.log"))
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


def _import_once() -> None:
    """One thread a rank, as torchrun has it where a node has several: read when PyTorch is imported."""
    with mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}):
        forkserver.ensure_running()


def _rank(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    from gaudi3_scale.ranks import run_rank
    from gaudi3_scale.train import train

    os.environ.update(environment)
    with log.open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    sys.argv = ["gaudi3_scale.train", *arguments]
    run_rank("gaudi3_scale.train", train, arguments)
