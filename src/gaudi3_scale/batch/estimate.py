# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a workload's step, worked out without a device: ``python -m gaudi3_scale.batch.estimate REQUEST``.

The step runs on fake tensors, which have sizes and no contents, so that it takes neither memory nor, but for the
Python in it, time. REQUEST is ``{"workload": "module:function", "options": {}, "result": "/path"}``; the result
``{"static_bytes": 1, "bytes_per_sample": 2}``. A workload that cannot run so (it reads a value, or moves its model to
another type) leaves none. What a compiler makes of the step (Gaudi's graphs) is not in it.
"""

from __future__ import annotations

import json
import sys
import weakref
from typing import Any, Callable, Mapping
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gaudi3_scale.batch.trial import Function, load_workload, write_result

# Far enough apart, and large enough, for what a sample takes.
SIZES = (1024, 4096)
# The second has the optimizer's state from its start.
STEPS = 2


def main() -> None:
    request = json.loads(sys.argv[1])
    write_result(request, answer(request))


def answer(request: Mapping[str, Any]) -> dict[str, float]:
    return estimate(load_workload(request["workload"]), request["options"])


def estimate(function: Function, options: Mapping[str, Any]) -> dict[str, float]:
    """Bytes of a step without samples, and of a sample."""
    small, large = (peak_bytes(function, options, size) for size in SIZES)
    a_sample = (large - small) / (SIZES[1] - SIZES[0])
    return {"static_bytes": small - SIZES[0] * a_sample, "bytes_per_sample": a_sample}


def peak_bytes(function: Function, options: Mapping[str, Any], batch_size: int) -> int:
    """The most that tensors take at a time, from the first on."""
    with FakeTensorMode(allow_non_fake_inputs=True), LiveTensors() as live, mock.patch.object(nn.Module, "to", _stay):
        step = function(batch_size=batch_size, device=torch.device("cpu"), **options)
        for _step in range(STEPS):
            step()
    peak: int = live.peak
    return peak


def _stay(module: nn.Module, *arguments: Any, **options: Any) -> nn.Module:
    """PyTorch cannot move fake parameters, and there is but one device here."""
    values = [*arguments, *options.values()]
    if any(isinstance(value, (torch.dtype, torch.Tensor)) for value in values):
        raise TypeError("a model of another type has another size")
    return module


class LiveTensors(TorchDispatchMode):
    """Counts the bytes of all tensors that exist, from the operations that make them."""

    def __init__(self) -> None:
        # PyTorch has no annotations here.
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = self._live = 0
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __torch_dispatch__(
        self, operation: Callable[..., Any], types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        output = operation(*arguments, **(options or {}))
        # Among the arguments are tensors that were there before: those of a model that was read from a file.
        for value in tree_leaves((arguments, options, output)):
            if isinstance(value, torch.Tensor):
                self._add(value.untyped_storage())
        return output

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def gone(_reference: object) -> None:
            self._live -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, gone)
        self._live += size
        self.peak = max(self.peak, self._live)


if __name__ == "__main__":
    main()
