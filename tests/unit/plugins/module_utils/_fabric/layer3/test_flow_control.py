# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Flow control: by the vendor's tool alone, and only where it says that it is off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.flow_control import (
    PRIORITIES,
    check_priorities,
    converge,
    parse,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

ON = "check_pfc 'enp1s0d8'\nenabled=0,1,2,3\ncheck_pfc 'enp1s0d22'\n        enabled=0,1,2,3\n"
OFF = "check_pfc 'enp1s0d8'\nenabled=none\ncheck_pfc 'enp1s0d22'\nenabled=\n"


class Tool:
    """The vendor's tool: ``said`` before --set-pfc, ``then`` after it."""

    def __init__(self, said: str, then: str = ON, rc: int = 0) -> None:
        self.said, self.then, self.rc = said, then, rc
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str], **_: Any) -> CommandResult:
        self.calls.append(argv[1])
        if argv[1] == "--set-pfc":
            self.said = self.then
        return CommandResult(self.rc, self.said, "lldptool is not installed" if self.rc else "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ON, {"enp1s0d8": PRIORITIES, "enp1s0d22": PRIORITIES}),
        (OFF, {"enp1s0d8": (), "enp1s0d22": ()}),
        ("check_pfc 'a'\nenabled=3\n", {"a": (3,)}),
    ],
)
def test_what_the_tool_says(text: str, found: dict[str, tuple[int, ...]]) -> None:
    assert parse(text) == found


@pytest.mark.parametrize("text", ["", "check_pfc 'a'\ncheck_pfc 'b'\nenabled=none\n", "check_pfc 'a'\nPFC: on\n", "x"])
def test_what_it_never_said_is_not_guessed(text: str) -> None:
    tool = Tool(text)
    with pytest.raises(GaudiError, match=r"--check-pfc says nothing for|--check-pfc says no port"):
        converge("/tool", PRIORITIES, tool, check_mode=False)
    assert tool.calls == ["--check-pfc"]


def test_it_is_set_once_and_only_where_it_is_off() -> None:
    tool = Tool(OFF)
    assert [one["before"] for one in converge("/tool", PRIORITIES, tool, check_mode=True)] == ["none\n", "none\n"]
    assert tool.calls == ["--check-pfc"]
    assert len(converge("/tool", PRIORITIES, tool, check_mode=False)) == 2
    assert converge("/tool", PRIORITIES, tool, check_mode=False) == []
    assert tool.calls.count("--set-pfc") == 1


def test_a_tool_without_effect_is_an_error_that_names_the_ports() -> None:
    with pytest.raises(GaudiError, match="--set-pfc left enp1s0d8, enp1s0d22 without"):
        converge("/tool", PRIORITIES, Tool(OFF, OFF), check_mode=False)


def test_a_tool_that_fails_brings_its_own_words() -> None:
    with pytest.raises(GaudiError, match="--check-pfc failed: lldptool is not installed; check"):
        converge("/tool", PRIORITIES, Tool("", rc=1), check_mode=True)


def test_nothing_is_asked_where_it_is_left_alone() -> None:
    tool = Tool(OFF)
    assert converge("/tool", [], tool, check_mode=False) == []
    assert tool.calls == []


@pytest.mark.parametrize("priorities", [[3], [0, 1, 2, 3, 4], [0, 1, 2, 9]])
def test_priorities_that_the_tool_does_not_set(priorities: list[int]) -> None:
    with pytest.raises(GaudiError, match="the vendor's tool sets 0, 1, 2 and 3 together"):
        check_priorities(priorities)
