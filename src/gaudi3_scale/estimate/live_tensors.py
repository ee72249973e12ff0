# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors that have sizes and no contents, and the bytes of those that exist at a time."""

from __future__ import annotations

import logging
import weakref
from contextlib import contextmanager
from typing import Any, Iterator
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Products of matrices, of which those in 16 bits are added up in 32.
PRODUCTS = frozenset({torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm, torch.ops.aten.baddbmm})


class LiveTensors(TorchDispatchMode):
    """Counts the bytes of all tensors that exist, from the operations that make them.

    A kernel's own buffers are not seen. One is known: PyTorch's CPU adds up a product of 16-bit matrices in a buffer of
    32-bit numbers, of which there are as many as in the product.
    """

    def __init__(self) -> None:
        # PyTorch has no annotations here.
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = self.live = 0
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def forget_peak(self) -> None:
        self.peak = self.live

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        output = operation(*arguments, **(options or {}))
        # Among the arguments are tensors that were there before: those of a model that was read from a file.
        for value in tree_leaves((arguments, options, output)):
            if isinstance(value, torch.Tensor):
                self._add(value.untyped_storage())
        if operation.overloadpacket in PRODUCTS and output.element_size() == 2:
            self.peak = max(self.peak, self.live + 2 * output.nbytes)
        return output

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def gone(_reference: object) -> None:
            self.live -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, gone)
        self.live += size
        self.peak = max(self.peak, self.live)


class Shapes:
    """Where a model and its steps run on fake tensors, which take neither memory nor, but for the Python, time."""

    def __init__(self) -> None:
        self.live = LiveTensors()
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)

    @contextmanager
    def __call__(self) -> Iterator[LiveTensors]:
        with _without_its_log(), self._fake, self.live, mock.patch.object(nn.Module, "to", _stay):
            yield self.live


@contextmanager
def _without_its_log() -> Iterator[None]:
    """PyTorch logs the whole stack of an operation that has no shape; the caller says it in a sentence."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _stay(module: nn.Module, *arguments: Any, **options: Any) -> nn.Module:
    """PyTorch cannot move fake parameters, and there is but one device here."""
    values = [*arguments, *options.values()]
    if any(isinstance(value, (torch.dtype, torch.Tensor)) for value in values):
        raise TypeError("a model of another type has another size")
    return module
