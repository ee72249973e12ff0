# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the vendor's bridge counts in this process (never run on a card): graphs compiled, memory put in order."""

from __future__ import annotations

import sys
from typing import Any, Callable, Mapping, Optional

import torch

from gaudi3_scale.devices import habana

# As the bridge's source has them: a compilation's time in microseconds, a defragmentation's in milliseconds.
_MICROSECOND, _MILLISECOND = 1e-6, 1e-3


class VendorCounters:
    """Seconds since the last call; 0 on other devices, and where the bridge does not tell."""

    def __init__(self, device: torch.device) -> None:
        self._metric = _metrics(device)
        self._compiled = self._compile_seconds()
        self._stalled = self._stall_seconds()

    def compiled(self) -> float:
        before, self._compiled = self._compiled, self._compile_seconds()
        return max(0.0, self._compiled - before)

    def stalled(self) -> float:
        before, self._stalled = self._stalled, self._stall_seconds()
        return max(0.0, self._stalled - before)

    def _compile_seconds(self) -> float:
        return _number(self._of("graph_compilation"), "TotalTime") * _MICROSECOND

    def _stall_seconds(self) -> float:
        found = self._of("memory_defragmentation")
        return _number(found, "TotalNumber") * _number(found, "AvgTime") * _MILLISECOND

    def _of(self, name: str) -> Mapping[str, Any]:
        if self._metric is None:
            return {}
        try:
            return dict(self._metric(name).stats())
        # A release without the counter costs the profile its share of compiling, and not the training.
        except Exception as error:
            sys.stderr.write(f"The bridge does not count {name} ({error}): the profile goes without.\n")
            self._metric = None
            return {}


def _metrics(device: torch.device) -> Optional[Callable[[str], Any]]:
    if device.type != "hpu":
        return None
    found: Callable[[str], Any] = habana("hpu.metrics").metric_global
    return found


def _number(found: Mapping[str, Any], name: str) -> float:
    value = found.get(name, 0.0)
    return float(value) if isinstance(value, (int, float)) else 0.0
