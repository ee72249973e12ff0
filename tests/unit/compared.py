# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Comparisons whose runs a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE, Comparison, Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.plan import Run, next_run


def comparison_of(*names: str, **changes: Any) -> Comparison:
    """Settings of these names, each of which changes one option."""
    options = {
        "workload": Workload("m:f", {"width": 8}, steps=5, device="cpu"),
        "base": Setting(BASE, batch_size=4),
        "settings": [Setting(name, options={name: 1}) for name in names or ("a",)],
    }
    return Comparison(**{**options, **changes})


def play(comparison: Comparison, one_run: Callable[[int, str], Run]) -> list[Run]:
    """All runs of a comparison, each made by ``one_run`` of its round and name."""
    runs: list[Run] = []
    while (following := next_run(runs, comparison)) is not None:
        runs.append(one_run(*following))
    return runs
