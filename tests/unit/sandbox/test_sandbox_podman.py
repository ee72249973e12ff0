# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What another podman makes fail is asked again; what stays wrong is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox import podman
from sandbox.errors import SandboxError

Failing = Callable[[int], list[list[str]]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """The commands of a podman that fails so many times first."""
    commands: list[list[str]] = []

    def make(times: int) -> list[list[str]]:
        def run(argv: list[str], *, text_in: str | None = None) -> str:
            commands.append(argv)
            if len(commands) <= times:
                raise SandboxError("no such container")
            return "[]"

        monkeypatch.setattr(podman, "run", run)
        return commands

    monkeypatch.setattr(podman, "AGAIN_AFTER_S", 0.0)
    return make


def test_a_list_that_something_went_from_is_asked_for_again(failing: Failing) -> None:
    commands = failing(2)
    assert podman.containers("demo") == []
    assert len(commands) == 3


def test_containers_that_are_slow_to_die_are_removed_again(failing: Failing) -> None:
    commands = failing(1)
    podman.remove_containers(["demo-node1"])
    assert len(commands) == 2
    assert commands[1][-5:] == ["--ignore", "--time", "0", "--volumes", "demo-node1"]


def test_what_stays_wrong_is_told(failing: Failing) -> None:
    commands = failing(99)
    with pytest.raises(SandboxError, match="no such container"):
        podman.networks()
    assert len(commands) == podman.AGAIN + 1
