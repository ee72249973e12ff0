# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a model puts out for windows of tokens, with no more of it in memory than one module's weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.models.hugging_face import first_line

WINDOWS, LENGTH = 2, 64
Read = Callable[[str], torch.Tensor]
"""A weight by its full name."""


def windows_of(vocabulary: int, places: int | None) -> torch.Tensor:
    """The same for each model of this size, as int64 [windows, length]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(vocabulary, (WINDOWS, min(LENGTH, places or LENGTH)), generator=generator)


def logits_of(model: nn.Module, read: Read, windows: torch.Tensor, dtype: torch.dtype, named: str) -> torch.Tensor:
    """``model`` has no weights: each is read when its module runs. Raises GaudiError where it cannot run so."""
    own_buffers(model, read)
    try:
        with torch.inference_mode(), _filled(model, read, dtype):
            output = model(windows)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        raise GaudiError(
            f"{named} cannot be run module by module, so nothing shows that it is the one that was trained: "
            f"{first_line(error)}."
        ) from error
    logits: torch.Tensor = getattr(output, "logits", output)
    if not bool(torch.isfinite(logits).all()):
        raise GaudiError(f"{named} puts out numbers that are infinite or NaN; export an earlier checkpoint.")
    return logits


def digest_of(logits: torch.Tensor) -> str:
    return hashlib.sha256(logits.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


def own_buffers(model: nn.Module, read: Read) -> None:
    """The buffers that a checkpoint has, which are small."""
    for prefix, module in model.named_modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in module._non_persistent_buffers_set:
                module._buffers[name] = read(f"{prefix}.{name}" if prefix else name)


@contextmanager
def _filled(model: nn.Module, read: Read, dtype: torch.dtype) -> Iterator[None]:
    """While it lasts, a module has its own weights as long as it runs."""
    handles = []
    for prefix, module in model.named_modules():
        if any(one is not None for one in module._parameters.values()):
            handles.append(module.register_forward_pre_hook(_filler(prefix, read, dtype)))
            handles.append(module.register_forward_hook(_emptier(dict(module._parameters)), always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _filler(prefix: str, read: Read, dtype: torch.dtype) -> Callable[..., None]:
    def fill(module: nn.Module, _inputs: object) -> None:
        for name, parameter in module._parameters.items():
            if parameter is not None:
                weight = read(f"{prefix}.{name}" if prefix else name).to(dtype)
                module._parameters[name] = nn.Parameter(weight, requires_grad=False)

    return fill


def _emptier(before: dict[str, nn.Parameter | None]) -> Callable[..., None]:
    def empty(module: nn.Module, *_: object) -> None:
        module._parameters.update(before)

    return empty
