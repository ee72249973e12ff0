# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many operations a model's shapes ask for, for the share of a card's peak that a training reaches."""

from __future__ import annotations

from typing import Callable

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gaudi3_scale.estimate.live_tensors import Shapes

# A step computes the way forth once, and twice as much on the way back (Kaplan et al. 2020). What is computed again,
# with --checkpointing, is no work of the model, and not in it (Chowdhery et al. 2022, appendix B).
FORWARDS_OF_STEP = 3
# Of a mixture of experts a token sees some, and which these are no shape tells.
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def flops_of_window(build: Callable[[], nn.Module], length: int) -> int | None:
    """Floating-point operations of the matrix products of one step with one window of ``length`` tokens.

    The model is built of shapes alone: it takes no memory, and nothing of it is computed. Attention counts the whole
    square, as is usual. None where the shapes do not tell.
    """
    counter = FlopCounterMode(display=False)
    try:
        with torch.random.fork_rng(devices=[]), Shapes()(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            model = build().eval()
            if any(getattr(getattr(model, "config", None), name, None) for name in _EXPERTS):
                return None
            tokens = torch.zeros((1, length), dtype=torch.int64)
            with counter:
                model(tokens)
    # Whatever PyTorch raises where a shape depends on a value: it has a type for each way.
    except Exception:
        return None
    return FORWARDS_OF_STEP * counter.get_total_flops() or None
