# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When a rank's own backward pass was over, and how long it then waited for gradients of others.

The autograd engine calls what was queued at the end of a backward pass in the order of queueing. What is queued as its
first node runs comes before the reducer of DDP, which waits there for the buckets that are on their way.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Iterator

import torch


class OwnEnd:
    """``waiting()`` is what the backward passes since the last call waited; on a card as its own clock has it."""

    def __init__(self, device: torch.device, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._events = _event_maker(device)
        self._waited = 0.0
        self._own: Any = None
        self._pairs: list[tuple[Any, Any]] = []

    @property
    def knows(self) -> bool:
        """On the CPU, and where the card has events with a time."""
        return self._events is not None

    @contextlib.contextmanager
    def watched(self, tensors: Any) -> Iterator[None]:
        first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if not self.knows or not isinstance(first, torch.Tensor) or not first.requires_grad:
            yield
            return
        self._own = None
        hook = first.register_hook(self._queue)
        try:
            yield
        finally:
            hook.remove()
            if self._own is not None:
                self._pairs.append((self._own, self._moment()))
                self._own = None

    def waiting(self) -> float:
        """Call it when the device is done."""
        pairs, self._pairs = self._pairs, []
        return sum(_between(own, end) for own, end in pairs)

    def _queue(self, _gradient: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(self._ended)

    def _ended(self) -> None:
        self._own = self._moment()

    def _moment(self) -> Any:
        if self._events is _HOST:
            return self._now()
        event = self._events()  # type: ignore[misc]
        event.record()
        return event


def _host() -> None:
    """Stands for the host's clock."""


_HOST = _host


def _event_maker(device: torch.device) -> Callable[[], Any] | None:
    if device.type == "cpu":
        return _HOST
    module = getattr(torch, device.type, None)
    event = getattr(module, "Event", None)
    return (lambda: event(enable_timing=True)) if event is not None else None


def _between(own: Any, end: Any) -> float:
    waited: float = end - own if isinstance(own, float) else own.elapsed_time(end) / 1e3
    return max(0.0, waited)
