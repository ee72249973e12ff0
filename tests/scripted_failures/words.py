# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ranks write as they end: Python's own forms, and the sentences of torch 2.13 that ``tests/endings`` recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.scripted_failures.model import Death

PLACES = {"torch/": "/opt/venv/lib/python3.11/site-packages/torch/", "py/": "/usr/lib/python3.11/"}
# How a training comes to its step.
MAIN = ("train.py:90:<module>:main()", "train.py:71:main:train_step(batch)")
BARRIER = (
    "train.py:90:<module>:main()",
    "train.py:74:main:dist.barrier()",
    "torch/distributed/c10d_logger.py:83:wrapper:return func(*args, **kwargs)",
    "torch/distributed/distributed_c10d.py:5356:barrier:work.wait()",
)
GLOO = "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/"
CLOSED = f"{GLOO}pair.cc:553] Connection closed by peer [10.0.0.2]:24726. This is typically caused by a remote worker"
RESET = f"{GLOO}pair.cc:537] Read error [10.0.0.2]:13479: Connection reset by peer. This is typically caused by a rem"
RECEIVE = (
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote"
)
STORE = "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 3/4 clients joined."
PATIENCE = f"{GLOO}unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation to complete"
REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, remote process exited or there was "
    "a network error"
)
BROKEN = f"{GLOO}pair.cc:633] writev [10.0.0.2]:9: Broken pipe"


def file_of(name: str) -> str:
    for short, place in PLACES.items():
        if name.startswith(short):
            return place + name.removeprefix(short)
    return name if name.startswith(("/", "<")) else f"/opt/train/{name}"


def traceback(headline: str, *frames: str, begin: str = "") -> str:
    """``frames``: file:line:function:code each."""
    lines = [f"{begin}Traceback (most recent call last):"]
    for frame in frames or MAIN:
        name, number, function, code = frame.split(":", 3)
        lines += [f'  File "{file_of(name)}", line {number}, in {function}', f"    {code}"]
    return "\n".join([*lines, headline, ""])


def of_rank(text: str, rank: int) -> str:
    """As torch prints what nobody caught, once the ranks have joined."""
    return "".join(f"[rank{rank}]: {line}\n" if line else "\n" for line in text.splitlines())


def raised(
    headline: str, *frames: str, rank: int | None = None, before: str = "", after: str = "", **changes: Any
) -> Death:
    """A rank that an exception ended. ``frames`` come below those of ``MAIN``."""
    said = traceback(headline, *MAIN, *frames)
    said = said if rank is None else of_rank(said, rank)
    given: dict[str, Any] = {"code": 1, "stderr": f"{before}{said}{after}", **changes}
    return Death(**given)


def recorded(headline: str, *frames: str, time: float, quiet: bool = False, **changes: Any) -> Death:
    """As torch's ``@record`` leaves it: error.json with the traceback. ``quiet``: nothing is in the log."""
    said = traceback(headline, *MAIN, *frames)
    about = {"py_callstack": said, "timestamp": str(int(time))}
    error = json.dumps({"message": {"message": headline, "extraInfo": about}})
    given: dict[str, Any] = {"code": 1, "stderr": "" if quiet else said, "error": error, **changes}
    return Death(**given)


def killed(number: int, said: str = "", **changes: Any) -> Death:
    given: dict[str, Any] = {"code": -number, "stderr": said, **changes}
    return Death(**given)


def thread(headline: str, *frames: str) -> str:
    ran = (
        "py/threading.py:1045:_bootstrap_inner:self.run()",
        "py/threading.py:982:run:self._target(*self._args, **self._kwargs)",
    )
    return "Exception in thread Thread-1 (prefetch):\n" + traceback(headline, *ran, *frames)


def worker(headline: str, *frames: str) -> str:
    """Of a data loader's worker: its traceback is in the message of the exception in its rank."""
    name = headline.partition(":")[0]
    own = traceback(headline, "torch/utils/data/_utils/fetch.py:54:fetch:data = self.dataset[idx]", *frames)
    load = "torch/utils/data/dataloader.py:725:__next__:data = self._next_data()"
    again = "torch/_utils.py:794:reraise:raise exception"
    outer = traceback(f"{name}: Caught {name} in DataLoader worker process 0.", *MAIN, load, again)
    return f"{outer}Original {own}"


def fault(name: str, *frames: str) -> str:
    """faulthandler's account; the innermost frame first."""
    lines = [f"Fatal Python error: {name}", "", "Current thread 0x00007f0a8c9d2740 (most recent call first):"]
    for frame in frames:
        file, number, function, _code = frame.split(":", 3)
        lines.append(f'  File "{file_of(file)}", line {number} in {function}')
    return "\n".join([*lines, ""])


def _lost(headline: str) -> Callable[[int], Death]:
    return lambda rank: Death(1, of_rank(traceback(headline, *BARRIER), rank))


# How the other ranks of a job end: by what they lose, by their agent's word alone, or well because of it.
FOLLOW: dict[str, Callable[[int], Death]] = {
    "closed": _lost(CLOSED),
    "reset": _lost(RESET),
    "receive": _lost(RECEIVE),
    "patience": _lost(PATIENCE),
    "store": _lost(STORE),
    "remote": _lost(REMOTE),
    "broken": _lost(BROKEN),
    "aborted": lambda _rank: Death(
        -6,
        "terminate called after throwing an instance of 'gloo::IoException'\n"
        "  what():  [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.2]:24726\n",
    ),
    "wrapped": lambda rank: Death(
        1,
        of_rank(
            traceback(CLOSED, *BARRIER)
            + "\nThe above exception was the direct cause of the following exception:\n\n"
            + traceback("ValueError: the step failed", *MAIN),
            rank,
        ),
    ),
    "told": lambda _rank: Death(-15, "", told=True),
    "well": lambda _rank: Death(0, "", told=True),
}
