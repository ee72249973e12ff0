# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Probe trials as forks of one process: ``python -m gaudi3_scale.batch.trial_server MODULE...``, driven by its input.

It imports PyTorch and the workload's MODULEs once, touches no device and starts no thread, so that a fork of it is as
good as a fresh process and starts in milliseconds. ``gaudi3_scale.batch.trial_forks`` starts it. It first
says whether it can fork, then answers each line with one line; it ends with its input. All lines are JSON::

    -> {"ready": true}
    <- {"requests": [{...}], "environments": [{}], "logs": ["/path"], "timeout": 60}
    -> {"ended": [[0, 0]]}

A request is one of ``gaudi3_scale.batch.trial``, one for each rank, or of ``gaudi3_scale.estimate.workload``. ``ended``
has exit status (null: past its time) and order of ending for each.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from gaudi3_scale.batch.process_memory import import_optimizers
from gaudi3_scale.batch.trial import run_trial, write_result
from gaudi3_scale.core._batch.trial_processes import end_group, end_without_owner, wait_together
from gaudi3_scale.estimate.workload import answer


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Whatever a module prints when it is imported is no answer.
    os.dup2(2, 1)
    _answer(answers, {"ready": prepare(sys.argv[1:])})
    for line in sys.stdin:
        _answer(answers, {"ended": run_forks(**json.loads(line))})


def prepare(modules: Sequence[str]) -> bool:
    """Import what trials need. False where a module started threads: a fork would have their locks without them."""
    import_optimizers()
    before = _threads()
    for module in modules:
        # What cannot be imported is told by the trial that tries to.
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(module)
    return _threads() <= before


def run_forks(
    requests: list[Mapping[str, Any]], environments: list[Mapping[str, str]], logs: list[str], timeout: float
) -> list[tuple[int | None, int]]:
    """Run each request in a fork; none outlives the call."""
    children: list[int] = []
    try:
        for request, environment, log in zip(requests, environments, logs):
            child = os.fork()
            if child == 0:
                _live(request, environment, log, timeout)
            children.append(child)
        ended = wait_together([_poll(child) for child in children], timeout, logs)
        return [(one.returncode, one.order) for one in ended]
    finally:
        for child in children:
            end_group(child)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _live(request: Mapping[str, Any], environment: Mapping[str, str], log: str, timeout: float) -> None:
    """The whole life of a fork."""
    status = 1
    try:
        os.setsid()
        end_without_owner(timeout)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        empty = os.open(os.devnull, os.O_RDONLY)
        for number, source in ((0, empty), (1, output), (2, output)):
            os.dup2(source, number)
        os.environ.update(environment)
        os.chdir(Path(log).parent)
        write_result(request, answer(request) if request.get("estimate") else run_trial(request))
        status = 0
    except BaseException as error:
        traceback.print_exception(error)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _poll(child: int) -> Callable[[], int | None]:
    def poll() -> int | None:
        ended, status = os.waitpid(child, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None

    return poll


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def _answer(answers: Any, value: object) -> None:
    answers.write(f"{json.dumps(value)}\n")
    answers.flush()


if __name__ == "__main__":
    main()
