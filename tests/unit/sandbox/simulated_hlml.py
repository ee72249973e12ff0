# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated libhlml.so for tests: built by gcc for a directory, which has the cards that it answers of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from sandbox.repository.hlml_library import build
from sandbox.simulator import hlml_state
from sandbox.simulator.node_state import Node, replace
from sandbox.simulator.readings import CardReading, readings

from . import simulated

CPUS = 4
# How long ago the driver of these nodes was loaded.
LOADED_SECONDS = 3600


@dataclass(frozen=True)
class SimulatedHlml:
    """The library at ``path``, which answers of the node that was shown last."""

    root: Path

    @property
    def path(self) -> str:
        return str(self.root / "libhlml.so")

    def show(self, node: Node | None = None, **faults: object) -> tuple[CardReading, ...]:
        """Let it answer of this node; its readings."""
        shown = node or replace(simulated.loaded(faults=faults), loaded_at=time.time() - LOADED_SECONDS)
        (self.root / hlml_state.FILE).write_text(hlml_state.text(shown, CPUS), encoding="utf-8")
        return readings(shown)


def build_in(root: Path) -> SimulatedHlml:
    """Of the newest release. Its hl-smi notes what it was called with."""
    hl_smi = root / "hl-smi"
    hl_smi.write_text(f'#!/bin/sh\necho "$@" >> {root}/hl-smi.calls\n', encoding="utf-8")
    hl_smi.chmod(0o755)
    build(root / "libhlml.so", simulated.RELEASE, root=str(root), hl_smi=str(hl_smi))
    return SimulatedHlml(root)
