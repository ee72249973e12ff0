# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun's ranks, begun before it starts them: each loads PyTorch beside the others, and torchrun takes it."""

from __future__ import annotations

import contextlib
import json
import os
import string
import subprocess
import sys
from typing import Any, Mapping, Sequence

from gaudi3_scale.supervisor import waiting_rank

# What torchrun gives each rank as it starts it, and the supervisor each generation. Nothing reads it at its import.
AT_THE_START = (
    *("RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "GROUP_WORLD_SIZE"),
    *("ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "GAUDI3_SCALE_GENERATION"),
)
AGENTS_OWN = "TORCHELASTIC_"
THREADS = "OMP_NUM_THREADS"


class RankStarts:
    """The ranks that wait, by local rank."""

    def __init__(self, torchrun: Sequence[str]) -> None:
        """``torchrun``: its words; what waits becomes what these start. None waits where that is no program of Python.

        A node that has no process or memory for them does without.
        """
        processes, command = ranks_command(torchrun)
        self._environment = _environment(processes)
        self._waiting: dict[int, tuple[tuple[str, ...], subprocess.Popen[bytes]]] = {}
        with contextlib.suppress(OSError):
            for local in range(processes):
                words = tuple(string.Template(word).safe_substitute(local_rank=local) for word in command)
                waiting = _with_waiting(words)
                if waiting:
                    self._waiting[local] = (words, self._begin(waiting, local))

    def _begin(self, words: Sequence[str], local: int) -> subprocess.Popen[bytes]:
        environment = {**self._environment, "LOCAL_RANK": str(local)}
        return subprocess.Popen(words, stdin=subprocess.PIPE, env=environment, start_new_session=True)

    def take(
        self, words: Sequence[str], environment: Mapping[str, str], stdout: str | None, stderr: str | None
    ) -> subprocess.Popen[bytes] | None:
        """The one that becomes this rank; None where it has to be started, since none waits or another was expected."""
        local = environment.get("LOCAL_RANK", "")
        expected, process = self._waiting.pop(int(local), ((), None)) if local.isdecimal() else ((), None)
        if process is None or process.stdin is None:
            return None
        known = {**self._environment, "LOCAL_RANK": local}
        given = {name: value for name, value in environment.items() if known.get(name) != value}
        lost = known.keys() - environment.keys()
        is_late = all(name in AT_THE_START or name.startswith(AGENTS_OWN) for name in (*given, *lost))
        if tuple(words) != expected or not is_late or process.poll() is not None:
            _end(process)
            return None
        told = {"environment": given, "stdout": stdout, "stderr": stderr}
        try:
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.close()
        except OSError:
            _end(process)
            return None
        return process

    def serve(self) -> None:
        """Have torchrun take them in this process. A torchrun that starts its ranks in another way does as ever."""
        from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

        handler = subprocess_handler.SubprocessHandler
        start = getattr(handler, "_popen", None)
        if start is None:
            self.end()
            return

        def taken_or_started(own: Any, args: tuple[str, ...], env: dict[str, str]) -> Any:
            files = [stream and stream.name for stream in (own._stdout, own._stderr)]
            return self.take(args, env, *files) or start(own, args, env)

        handler._popen = taken_or_started  # type: ignore[assignment,method-assign]

    def end(self) -> None:
        """None is needed any more."""
        while self._waiting:
            _end(self._waiting.popitem()[1][1])


def ranks_command(torchrun: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """How many ranks a node has, and what torchrun starts for each, by its words (``core._job.engines.torchrun``)."""
    words = list(torchrun)
    try:
        processes, command = int(words[words.index("--nproc-per-node") + 1]), words[words.index("--redirects") + 2 :]
    except (ValueError, IndexError):
        return 0, ()
    if command[:1] == ["--no-python"]:
        return processes, tuple(command[1:])
    return processes, (sys.executable, "-u", *command)


def _with_waiting(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with the waiting rank in the program's place; empty where another program than Python's is started."""
    for place in range(1, len(words) - 1):
        if words[place - 1 : place + 1] == (sys.executable, "-u"):
            is_known = words[place + 1] == "-m" or words[place + 1].endswith(".py")
            return (*words[: place + 1], waiting_rank.__file__, *words[place + 1 :]) if is_known else ()
    return ()


def _environment(processes: int) -> dict[str, str]:
    """What torchrun's ranks have before they get their numbers (distributed/run.py of torch 2.13)."""
    threads = {} if THREADS in os.environ or processes < 2 else {THREADS: "1"}
    return {**os.environ, **threads, "LOCAL_WORLD_SIZE": str(processes)}


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
