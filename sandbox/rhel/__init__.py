# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that stands in for RHEL 9: the sandbox may fetch no image of it. What is real is said in ``stand_in.sh``."""

from __future__ import annotations

from pathlib import Path

from ..commands import step
from ..nodes import in_node
from ..plan import NodePlan
from ..repository.build import ensure_rhel_repository

_SCRIPT = Path(__file__).with_name("stand_in.sh")


def make_stand_in(node: NodePlan) -> None:
    """Turn ``node`` into the stand-in, once; ``reset`` makes it what it was."""
    ensure_rhel_repository()
    if "rhel" in in_node(node, "sed", "-n", "s/^ID=//p", "/etc/os-release"):
        return
    with step(f"{node.name} stands in for RHEL 9"):
        in_node(node, "sh", "-s", text_in=_SCRIPT.read_text(encoding="utf-8"))
