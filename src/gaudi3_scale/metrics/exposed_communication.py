# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long a backward pass goes on after its own work, for the gradients of other ranks, without DDP's own timers.

Those have a clock for the CPU and CUDA alone. Here two marks are set in the stream of work: when autograd has asked for
the last of this rank's own gradients, and when the pass is over, for which DDP lets the stream wait for what the ranks
exchange. Between them nothing else is computed. Never run on a card: the marks are the bridge's events there.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable

import torch
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.devices import hpu_module

LAZY = "PT_HPU_LAZY_MODE"
# A moment in the work of a device: seconds from it to a later one, once the device has come there.
Mark = Callable[[], Any]
Between = Callable[[Any, Any], float]


class ExposedCommunication:
    """The marks of the steps that are measured; nothing is done in the others.

    ``mark`` sets one, and ``between`` tells the seconds between two that the device has passed.
    """

    def __init__(self, mark: Mark, between: Between) -> None:
        self._mark = mark
        self._between = between
        self._own: Any = None
        self._all: Any = None

    def watch(self, loss: torch.Tensor) -> None:
        """The backward pass of this loss is about to begin."""
        self._own = self._all = None
        if loss.requires_grad:
            # Called first of all in the pass. What it asks for then stands before DDP's own wait, which asks for the
            # same when the last bucket is full.
            loss.register_hook(self._begins)

    def _begins(self, _gradient: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(self._own_work_is_done)

    def _own_work_is_done(self) -> None:
        self._own = self._mark()

    def over(self) -> None:
        """The pass has returned."""
        self._all = self._mark()

    def seconds(self) -> float | None:
        """Of the last pass; to be asked for once the device has done it. None where it was not watched."""
        if self._own is None or self._all is None:
            return None
        return max(0.0, self._between(self._own, self._all))


def exposed_communication(device: torch.device, model: Any) -> ExposedCommunication | None:
    """Of DDP on Gaudi; None where DDP times itself, and where work has no order in which a mark could stand.

    In the bridge's lazy mode a pass is recorded, and run later as one graph. FSDP2 exchanges all along the step.
    """
    if device.type != "hpu" or not isinstance(model, DistributedDataParallel) or os.environ.get(LAZY) == "1":
        return None
    event = getattr(hpu_module(), "Event", None)
    return by_events(event) if event else None


def by_events(event: Any) -> ExposedCommunication:
    """By events of a stream, as CUDA and the bridge have them."""

    def mark() -> Any:
        made = event(enable_timing=True)
        made.record()
        return made

    return ExposedCommunication(mark, lambda earlier, later: float(earlier.elapsed_time(later)) / 1000)


def by_the_clock() -> ExposedCommunication:
    """Where a pass that has returned is done: on the CPU."""
    return ExposedCommunication(time.perf_counter, lambda earlier, later: float(later - earlier))
