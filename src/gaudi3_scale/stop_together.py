# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All ranks of a training agree on something at the same step, without waiting for a card or for each other."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import lightning.pytorch as lightning
import torch

SAME_SIGNAL_SECONDS = 5.0
"""Within so long a SIGTERM is the same one again: systemd and Slurm send it to every process of a job, and torchrun,
which gets it as well, passes it on to its ranks."""


class StopSignal:
    """SIGTERM asks for the end of the training after its step; a second one ends the process at once.

    Lightning 2.6 answers SIGTERM with a broadcast in the middle of whatever collective is running, which can wait for
    ranks that are already gone, and asks all ranks before every batch whether one was signaled, which waits for the
    device each time (lightning/pytorch: signal_connector.py ``_sigterm_notifier_fn``, training_epoch_loop.py
    ``_broadcast_sigterm_tensor``). Both are put out of the way.
    """

    def __init__(self) -> None:
        self._first: float | None = None

    @property
    def received(self) -> bool:
        return self._first is not None

    def install(self, trainer: lightning.Trainer) -> None:
        """When Lightning has set its own handler, as it begins to train."""
        signal.signal(signal.SIGTERM, self._handle)
        trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]

    def _handle(self, number: int, _frame: object) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
        elif now - self._first > SAME_SIGNAL_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


class Agreement:
    """After each step: the largest of what all ranks said after the step *before*.

    The answer is under way while the next step is computed, over the hosts' own process group. So no rank waits, every
    rank has the same answer at the same step, and the cards need not be asked. It costs a step's delay.
    """

    def __init__(self, group: torch.distributed.ProcessGroup, questions: int) -> None:
        self._group = group
        self._said = torch.zeros(questions, dtype=torch.int32)
        self._under_way: Any = None

    def after_step(self, *said: int) -> list[int]:
        """Collective, though it hardly waits."""
        answer = self.last()
        self._said = torch.tensor(said, dtype=torch.int32)
        self._under_way = torch.distributed.all_reduce(
            self._said, torch.distributed.ReduceOp.MAX, group=self._group, async_op=True
        )
        return answer

    def last(self) -> list[int]:
        """What was agreed on after the last step; all zero before the first."""
        if self._under_way is not None:
            self._under_way.wait()
            self._under_way = None
        return self._said.tolist()
