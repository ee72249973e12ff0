# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A container on the node: which of the node's cards a program in it can reach.

The state of the simulation stands for the kernel, which containers share; the devices are what an engine passes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .node_state import ROOT
from .readings import CardReading

# Which process ids the node itself has, kept at its boot: a container has others.
PID_NAMESPACE = "boot/pid_namespace"
DEVICES = Path("/dev/accel")


def pid_namespace() -> str:
    """The namespace of process ids that this program is in."""
    return str(Path("/proc/self/ns/pid").readlink())


def with_devices(readings: Sequence[CardReading], root: Path = ROOT, devices: Path = DEVICES) -> Sequence[CardReading]:
    """All cards for a program of the node; those whose device nodes are there for a program in a container.

    That the real hl-smi needs both nodes of a card is not documented; it opens the one through which a card is managed.
    """
    own = root / PID_NAMESPACE
    if not own.exists() or own.read_text(encoding="utf-8").strip() == pid_namespace():
        return readings
    return [reading for reading in readings if (devices / f"accel_controlD{reading.index}").exists()]
