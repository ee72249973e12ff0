# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many passes a rank makes before each optimizer step."""

from __future__ import annotations

from gaudi3_scale.core._errors import GaudiError


def require_one_pass(static_graph: bool, passes: int) -> None:
    """Raises GaudiError where DDP would see two kinds of backward passes, with and without an exchange of gradients."""
    if static_graph and passes > 1:
        raise GaudiError(
            f"--static-graph: a step has {passes} passes, and they are not all alike, since the last alone exchanges "
            "gradients; leave it out, or make a step of one pass."
        )


def passes_of_step(global_batch: int | None, batch_size: int, world_size: int, passes: int | None) -> int:
    """``passes`` as asked for (None: not asked, which is 1), or what makes ``global_batch`` windows on all ranks.

    Raises GaudiError where the global batch cannot be shared out so.
    """
    if global_batch is None:
        return passes or 1
    together = batch_size * world_size
    if global_batch % together:
        raise GaudiError(
            f"--global-batch-size {global_batch} is not a multiple of --batch-size {batch_size} times {world_size} "
            f"ranks; choose a multiple of {together}, or another --batch-size or number of ranks."
        )
    derived = global_batch // together
    if passes not in (None, derived):
        raise GaudiError(
            f"--accumulate {passes} makes a global batch of {passes * together}, not --global-batch-size "
            f"{global_batch}; leave one of the two out."
        )
    return derived
