# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What marks the parts of a step in anybody's loop while a window is open, and is gone when it closes.

Everything is hung where PyTorch passes through in any case: the data loader's iterator, ``torch.autograd.backward``,
the optimizers' hooks, ``Work.wait`` of the collectives, and Dynamo's callbacks around each compilation.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, Iterator

import torch
import torch.distributed
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data import dataloader

from gaudi3_scale.profiler.own_end import OwnEnd
from gaudi3_scale.profiler.step_parts import BACKWARD, COMMUNICATION, COMPILE, DATA, OPTIMIZER, StepParts


@contextlib.contextmanager
def marked(parts: StepParts, own_end: OwnEnd) -> Iterator[None]:
    """``parts`` is told of all that passes on this thread."""
    with contextlib.ExitStack() as hung:
        _replace(hung, dataloader._BaseDataLoaderIter, "__next__", _around(parts, DATA))
        _replace(hung, torch.autograd, "backward", lambda original: _backward(original, parts, own_end))
        if torch.distributed.is_available():
            _replace(hung, torch.distributed.Work, "wait", _around(parts, COMMUNICATION))
        for hook in (
            register_optimizer_step_pre_hook(lambda *_: parts.enter(OPTIMIZER)),
            register_optimizer_step_post_hook(lambda *_: parts.leave()),
        ):
            hung.callback(hook.remove)
        _hang_on_dynamo(hung, parts)
        yield


def _replace(
    hung: contextlib.ExitStack, owner: Any, name: str, wrapping: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    original = getattr(owner, name)
    wrapped = wrapping(original)
    setattr(owner, name, wrapped)

    def back() -> None:
        # Whoever has replaced it meanwhile keeps what he put there.
        if getattr(owner, name) is wrapped:
            setattr(owner, name, original)

    hung.callback(back)


def _around(parts: StepParts, part: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    here = threading.get_ident()

    def wrapping(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != here:
                return original(*arguments, **named)
            parts.enter(part)
            try:
                return original(*arguments, **named)
            finally:
                parts.leave()

        return wrapped

    return wrapping


def _backward(original: Callable[..., Any], parts: StepParts, own_end: OwnEnd) -> Callable[..., Any]:
    around = _around(parts, BACKWARD)(original)

    def wrapped(tensors: Any, *arguments: Any, **named: Any) -> Any:
        with own_end.watched(tensors):
            return around(tensors, *arguments, **named)

    return wrapped


def _hang_on_dynamo(hung: contextlib.ExitStack, parts: StepParts) -> None:
    """Only where it is loaded: importing it takes seconds."""
    callbacks = sys.modules.get("torch._dynamo.callback")
    if callbacks is None:
        return
    handler = callbacks.callback_handler

    def begins(_arguments: object) -> None:
        parts.enter(COMPILE)

    def ends(_arguments: object) -> None:
        parts.leave()

    handler.register_start_callback(begins)
    handler.register_end_callback(ends)
    hung.callback(handler.remove_start_callback, begins)
    hung.callback(handler.remove_end_callback, ends)
