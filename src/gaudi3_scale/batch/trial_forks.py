# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Probe trials one after another, as forks of a process that has imported PyTorch once.

On a CPU and on CUDA that saves seconds a trial. On Gaudi each trial stays a fresh process: whether the bridge can be
loaded into a fork was never tried on a card, and beside the compilation of a trial the import is small.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from types import TracebackType
from typing import Any, Mapping, Sequence

from gaudi3_scale.core._batch.estimate import estimate, estimate_by
from gaudi3_scale.core._batch.memory_model import Prior
from gaudi3_scale.core._batch.search import Trial
from gaudi3_scale.core._batch.trial import Workload, run_trial, trial_by
from gaudi3_scale.core._batch.trial_place import TrialPlace
from gaudi3_scale.core._batch.trial_processes import Ended, end_group, rank_variables
from gaudi3_scale.core._node.json_file import parse_json

FORKS_ON = ("cpu", "cuda")
# How long the process may take to import what the trials need, and to answer once their time is over.
START_S = 300.0
ANSWER_S = 15.0


class Trials:
    """``with Trials(...) as attempt: attempt(batch_size)``: any number of trials of a workload, one at a time.

    A trial may die as it likes. Where the process that forks them dies itself, or cannot fork, the trial is made in a
    fresh process as ``run_trial`` does, and the next one starts another. ``imports``: modules that trials need beside
    the workload's own.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        python: str,
        timeout: float,
        environment: Mapping[str, str],
        imports: Sequence[str] = (),
    ) -> None:
        self._workload = workload
        self._imports = [workload.function.partition(":")[0], *imports]
        self._python = python
        self._timeout = timeout
        # PyTorch would load the bridge, and with it the card's library, by itself (torch 2.5 and newer).
        self._environment = {**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        self._fresh_environment = environment
        self._server: subprocess.Popen[bytes] | None = None
        self._forks = workload.device in FORKS_ON

    def __enter__(self) -> Trials:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, batch_size: int) -> Trial:
        if self._forks:
            try:
                return trial_by(self._run, self._workload, batch_size, self._timeout)
            except _NoServerError:
                self._stop()
        return run_trial(
            self._workload,
            batch_size,
            python=self._python,
            timeout=self._timeout,
            environment=self._fresh_environment,
        )

    def start(self) -> None:
        """Import what the trials need now, and not with the first of them."""
        if self._forks and self._server is None:
            try:
                self._start()
            except _NoServerError:
                self._stop()

    def estimate(self) -> Prior | None:
        """What the host can say before the first trial; None where it cannot."""
        if self._forks:
            try:
                return estimate_by(self._run, self._workload)
            except _NoServerError:
                self._stop()
        return estimate(self._workload, python=self._python, environment=self._fresh_environment)

    def _run(self, requests: Sequence[Mapping[str, object]], timeout: float, place: TrialPlace) -> list[Ended]:
        if self._server is None:
            self._start()
        logs = [place.log(rank) for rank in range(len(requests))]
        line = {
            "requests": requests,
            "environments": rank_variables(len(requests)),
            "logs": logs,
            "timeout": timeout,
        }
        answer = self._ask(line, timeout + ANSWER_S)
        return [Ended(status, order, log) for (status, order), log in zip(answer["ended"], logs)]

    def _start(self) -> None:
        self._server = subprocess.Popen(
            [self._python, "-m", "gaudi3_scale.batch.trial_server", *self._imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )
        if not self._ask(None, START_S).get("ready"):
            self._forks = False
            raise _NoServerError

    def _ask(self, line: object, seconds: float) -> Any:
        server = self._server
        if server is None or server.stdin is None or server.stdout is None:
            raise _NoServerError
        try:
            if line is not None:
                server.stdin.write(f"{json.dumps(line)}\n".encode())
                server.stdin.flush()
            text = _line(server.stdout.fileno(), time.monotonic() + seconds)
            return parse_json(text)
        except (OSError, ValueError) as error:
            raise _NoServerError from error

    def _stop(self) -> None:
        """A server that is gone leaves trials that their alarm ends; one that is asked to end has none."""
        server, self._server = self._server, None
        if server is None:
            return
        for pipe in (server.stdin, server.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        end_group(server.pid)
        server.wait()


class _NoServerError(Exception):
    """There is no process that forks."""


def _line(descriptor: int, deadline: float) -> bytes:
    """One line, or ValueError past the deadline and at the end of the input."""
    text = b""
    while not text.endswith(b"\n"):
        readable = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]
        piece = os.read(descriptor, 65536) if readable else b""
        if not piece:
            raise ValueError("no answer")
        text += piece
    return text
