# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Equal cards of a node in one cell of a table."""

from __future__ import annotations

from collections.abc import Sequence


def card_names(modules: Sequence[int | None]) -> str:
    """``0-6, 8`` of module ids; how many where a card tells none."""
    if any(module is None for module in modules):
        return f"{len(modules)} cards"
    runs: list[list[int]] = []
    for module in sorted(module for module in modules if module is not None):
        if runs and module == runs[-1][-1] + 1:
            runs[-1].append(module)
        else:
            runs.append([module])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
