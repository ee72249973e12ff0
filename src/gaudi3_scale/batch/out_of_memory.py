# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Telling "the device is full" from every other error."""

from __future__ import annotations

import torch

from gaudi3_scale.core._batch.trial import OUT_OF_MEMORY_TEXTS


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error``, or one that it was raised from, says that memory ran out.

    Gaudi's bridge and PyTorch's CPU allocator raise a RuntimeError that only its text tells apart; a process that
    cannot be forked is an OSError.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (MemoryError, torch.OutOfMemoryError)):
            return True
        if isinstance(seen, (RuntimeError, OSError)) and any(text in str(seen).lower() for text in OUT_OF_MEMORY_TEXTS):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
