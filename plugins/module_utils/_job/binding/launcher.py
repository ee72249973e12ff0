# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What stands before a rank's command where ranks are bound; see ``rank.py``."""

from __future__ import annotations

from dataclasses import dataclass

# Neither the user's PYTHONPATH nor what a venv runs at each start of Python: that is for the user's program alone.
ISOLATED = ("-I", "-S")


@dataclass(frozen=True)
class Launcher:
    """``program`` is the file that ``_launch.node_programs`` brings to each node; the venv's ``python`` runs it."""

    python: str
    program: str
    bind: str
    device: str
    kernel_root: str

    def argv(self, threads: str) -> tuple[str, ...]:
        """The words before the command; ``threads`` as ``rank.main`` has it."""
        return (self.python, *ISOLATED, self.program, self.bind, self.device, self.kernel_root, threads)
