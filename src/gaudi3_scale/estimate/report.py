# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An estimate as lines on a screen; pure."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from gaudi3_scale.estimate.refusal import gib

if TYPE_CHECKING:
    from gaudi3_scale.estimate.estimate import Estimate


def lines(found: Estimate, options: argparse.Namespace) -> list[str]:
    counted = f"{found.parameters:,} parameters, " if found.parameters else ""
    sharding = f", {options.sharding}" if options.cards > 1 or options.sharding != "ddp" else ""
    kept = ", checkpointing" if found.checkpointing else ""
    shown = [
        f"{found.model}: {counted}{options.precision}{kept}" if found.parameters else found.model,
        f"Each of {options.cards} card(s){sharding}, batch size {options.batch_size}:",
    ]
    parts = asdict(found.parts) if found.parts else {}
    shown += [f"  {name:12} {gib(size):>14}" for name, size in parts.items()]
    shown += [f"  {'together':12} {gib(found.together):>14} of {gib(found.memory)}"]
    shown += [f"Largest batch size: {found.largest_batch or 'none'}"]
    if found.parts:
        shown += [f"Cards needed with fsdp2 and this batch size: {found.cards_needed or 'no number is enough'}"]
    return shown
