# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun before it is needed: a process that has loaded PyTorch, which takes seconds, and waits for its words.

A supervisor has one while it waits for the other nodes, and again when its ranks have run for a while. Its ranks wait
below it (``rank_starts``). So a start of the ranks, after a lost rank or node as well, waits for no import of PyTorch.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

from gaudi3_scale.core._node.process_tree import descendants
from gaudi3_scale.supervisor.rank_starts import RankStarts

# A job that ends sooner, or fails again and again, does not pay for one that is never needed.
NEXT_AFTER_S = 60.0
# What Python runs before torchrun where a program's checkpoints are handed over first; the supervision's file and the
# members follow.
HANDING_OVER = ("-I", "-m", "gaudi3_scale.checkpoints.hand_over")


class WaitingAgent:
    """None yet, or one. ``argv`` is what it is to become, torchrun of this very Python; else there is never one.

    It stands in the process's own words, so that a list of processes tells which job it is for.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self._argv, self._environment = list(argv), environment
        self._is_ours = self._argv[:1] == [str(Path(sys.executable).parent / "torchrun")]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def processes(self) -> set[int]:
        """What is to be left alone while everything else is ended."""
        return {self._process.pid, *descendants(self._process.pid)} if self._process else set()

    def prepare(self) -> None:
        """Have one, where there is none. A node that has no process or memory for it does without."""
        if self._process is None and self._is_ours:
            with contextlib.suppress(OSError):
                self._process = start_agent(
                    [sys.executable, "-I", "-m", __name__, *self._argv], self._environment, subprocess.PIPE
                )

    def take(self, argv: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
        """Becomes torchrun with these words; None where there is none, or it has ended."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.poll() is not None:
            return None
        try:
            process.stdin.write(json.dumps({"argv": list(argv), "environment": dict(environment)}).encode() + b"\n")
            process.stdin.close()
        except OSError:
            # It ends at this very moment.
            process.kill()
            return None
        return process

    def end(self) -> None:
        """It is not needed any more, and its ranks are not."""
        for pid in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process = None


def start_agent(
    argv: Sequence[str], environment: Mapping[str, str], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Raises OSError where it cannot be started."""
    return subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        start_new_session=True,
    )


def main() -> None:
    """In that process. Without words its supervisor has ended, and so does it."""
    ranks = RankStarts(sys.argv[1:])
    from torch.distributed import run

    words = sys.stdin.readline()
    if not words:
        ranks.end()
        return
    told = json.loads(words)
    os.environ.clear()
    os.environ.update(told["environment"])
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    sys.argv = _handed_over(told["argv"])
    ranks.serve()
    run.main()


def _handed_over(argv: list[str]) -> list[str]:
    """torchrun's words, once the node has the program's newest checkpoint where that is asked for."""
    before = [sys.executable, *HANDING_OVER]
    if argv[: len(before)] != before:
        return argv
    from gaudi3_scale.checkpoints.hand_over import hand_over

    file, members, *torchrun = argv[len(before) :]
    if not hand_over(file, members):
        sys.exit(1)
    return torchrun


if __name__ == "__main__":
    main()
