# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where a node's files are, and the plan of one host setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .._node.kernel_tree import kernel_tree
from .._node.programs import Installed, is_installed
from .._node.rendered_files import WantedFile
from . import memory_lock


@dataclass(frozen=True)
class Node:
    """``kernel_root`` holds ``proc`` and ``sys``; the rest are the directories and abilities of a real system."""

    kernel_root: str = field(default_factory=kernel_tree)
    etc: str = "/etc"
    boot: str = "/boot"
    installed: Installed = is_installed
    may_raise_memlock: Callable[[], bool] = memory_lock.can_be_raised
    usr_lib: str = "/usr/lib"
    runtime: str = "/run"

    def kernel(self, path: str) -> str:
        """A path below the kernel's root."""
        return str(Path(self.kernel_root, path))

    def in_etc(self, path: str) -> str:
        """A path below the system's configuration."""
        return str(Path(self.etc, path))

    def in_boot(self, path: str) -> str:
        """A path below the boot files."""
        return str(Path(self.boot, path))


class Setting(NamedTuple):
    """One setting's plan: its files, the facts that a program wants, and sentences for the operator."""

    files: list[WantedFile]
    facts: dict[str, object]
    warnings: list[str]
