# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Smaller gradients between the ranks of DDP: PyTorch's communication hooks by name."""

from __future__ import annotations

from typing import Any

from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook, fp16_compress_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

PLAIN_STEPS = 10
"""PowerSGD begins after so many steps: the first gradients are the ones that it would distort most."""
RANK = 4
"""Of the two matrices that PowerSGD sends instead of each matrix (Vogels et al. 2019 use 1 to 4)."""


def bf16_hook(group, bucket):  # type: ignore[no-untyped-def]
    """PyTorch's own by another name: DDP knows that one's, and refuses it on every device but CUDA and XPU, though gloo
    and HCCL add bf16 as well. DDP refuses annotations, too, which are texts in this file."""
    return bf16_compress_hook(group, bucket)


def communication_hook(name: str) -> dict[str, Any]:
    """The arguments of Lightning's DDPStrategy for ``none``, ``fp16``, ``bf16`` or ``powersgd``.

    What PowerSGD still owes to each gradient (error feedback) and its step are the process's own: they are in no
    checkpoint, and a resumed run begins with plain steps and nothing owed.
    """
    if name == "powersgd":
        state = PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=PLAIN_STEPS)
        return {"ddp_comm_state": state, "ddp_comm_hook": powerSGD_hook}
    hooks = {"fp16": fp16_compress_hook, "bf16": bf16_hook}
    return {"ddp_comm_hook": hooks[name]} if name in hooks else {}
