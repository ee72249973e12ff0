# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real ansible-rulebook with the rulebook that runs playbooks, and the nodes of the sandbox in its inventory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .rulebook_process import free_port, reaches, running, said
from .sandbox_nodes import hostvars

__all__ = ["free_port", "listening", "reaches", "said"]


@contextmanager
def listening(directory: Path, token: str, port: int = 0, **of_each_node: Any) -> Iterator[int]:
    """The port at which it listens, a free one where none is given; ``of_each_node`` are variables of its inventory.

    What it says is in rulebook.log in the directory.
    """
    nodes = {name: {**known, **of_each_node} for name, known in hostvars().items()}
    with running(directory, "quarantine", token, nodes, port) as found:
        yield found
