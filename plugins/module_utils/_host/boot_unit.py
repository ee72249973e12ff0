# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The oneshot units of this layer, which set values of the kernel at every boot: enabled, and run where that is due."""

from __future__ import annotations

from collections.abc import Sequence

from .._node import systemd_units
from .._node.commands import Run
from .._node.rendered_files import FileChange
from .node import Node


def path_of(unit: str, node: Node) -> str:
    """Where the unit's file is."""
    return node.in_etc(f"{systemd_units.UNIT_DIRECTORY}/{unit}")


def is_new(unit: str, node: Node, changes: Sequence[FileChange]) -> bool:
    """Whether this run writes the unit, or would."""
    return any(change.wanted.path == path_of(unit, node) and change.wanted.content for change in changes)


def is_going(unit: str, node: Node, changes: Sequence[FileChange]) -> bool:
    """Whether this run takes the unit away, or would."""
    return any(change.wanted.path == path_of(unit, node) and change.wanted.content is None for change in changes)


def settle(unit: str, run: Run, *, due: bool, check_mode: bool) -> bool:
    """Enable ``unit``, and run it where it is ``due``; whether it was enabled before."""
    enabled = systemd_units.is_enabled(run, unit)
    if not check_mode:
        if not enabled:
            systemd_units.enable(run, unit)
        if due:
            systemd_units.restart(run, unit)
    return enabled
