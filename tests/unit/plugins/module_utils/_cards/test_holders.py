# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ending what holds the cards, and starting it again."""

from __future__ import annotations

from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.holders import names, start, stop, stoppable, stubborn
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder

LONG = "0123456789abcdef" * 4
DOCKER, PODMAN = f"docker-{LONG}.scope", "libpod-0123456789ab.scope"
UNITS = [
    ("gaudi-exporter.service", True),
    ("slurmd.service", True),
    (DOCKER, True),
    (PODMAN, True),
    ("session-3.scope", False),
    ("user@1000.service", False),
    ("slurmstepd.scope", False),
    (f"cri-containerd-{LONG}.scope", False),
    (f"crio-{LONG}.scope", False),
    ("docker-0123.scope", False),
    (f"docker-{LONG}0.scope", False),
    (f"docker-{LONG}.scope.mine", False),
    ("", False),
]


def holder(unit: str, pid: int = 4711) -> Holder:
    return Holder(pid, "python3", unit, ("accel0",))


class Engine:
    """systemctl, docker and podman: what they were told, and whom they refuse."""

    def __init__(self, refused: str = "", result: CommandResult | None = None) -> None:
        self.refused = refused
        self.result = result or CommandResult(1, "", "")
        self.calls: list[list[str]] = []

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.calls.append(list(argv))
        return self.result if self.refused and self.refused in argv else CommandResult(0, "", "")


@pytest.mark.parametrize(("unit", "ours"), UNITS)
def test_services_and_containers_can_be_stopped_and_nothing_else(unit: str, ours: bool) -> None:
    one = holder(unit)
    assert stoppable(one) is ours
    assert names([one]) == ((unit,) if ours else ())
    assert stubborn([one]) == ([] if ours else [one])


def test_a_unit_with_many_processes_is_named_once_and_in_the_order_of_the_first() -> None:
    every = [holder("b.service", 1), holder(DOCKER, 2), holder("b.service", 3), holder("session-3.scope", 4)]
    assert names(every) == ("b.service", DOCKER)
    assert [one.pid for one in stubborn([*every, holder("session-3.scope", 5)])] == [4, 5]


@pytest.mark.parametrize(("act", "verb"), [(stop, "stop"), (start, "start")])
def test_each_is_told_to_the_engine_that_runs_it(act: Any, verb: str) -> None:
    engine = Engine()
    act(["gaudi-exporter.service", DOCKER, PODMAN], engine)
    assert engine.calls == [
        ["systemctl", verb, "gaudi-exporter.service"],
        ["docker", verb, LONG],
        ["podman", verb, "0123456789ab"],
    ]


def test_nothing_is_run_for_nothing() -> None:
    engine = Engine()
    stop([], engine)
    start((), engine)
    assert engine.calls == []


@pytest.mark.parametrize(
    ("unit", "refused", "result", "words"),
    [
        (
            "a.service",
            "a.service",
            CommandResult(5, "", "Warning: changed on disk\nFailed to stop a.service: Unit a.service not loaded.\n"),
            "systemctl stop a.service failed: Failed to stop a.service: Unit a.service not loaded; stop it manually",
        ),
        (
            DOCKER,
            LONG,
            CommandResult(1, "Error: no such container\n", ""),
            f"docker stop {LONG} failed: Error: no such",
        ),
        (PODMAN, "podman", CommandResult(127, "", "podman: not installed"), "failed: podman: not installed; stop it"),
        ("a.service", "a.service", CommandResult(1, "", " \n"), "a.service failed: no reason given; stop it manually"),
    ],
)
def test_who_cannot_be_stopped_is_named_with_the_engines_reason(
    unit: str, refused: str, result: CommandResult, words: str
) -> None:
    engine = Engine(refused, result)
    with pytest.raises(GaudiError) as caught:
        stop([unit, "later.service"], engine)
    assert words in str(caught.value)
    assert str(caught.value).endswith("manually, and run again.")
    assert caught.value.facts == {"unit": unit}
    assert len(engine.calls) == 1


def test_who_cannot_be_started_is_named_and_keeps_no_other_from_it() -> None:
    engine = Engine("docker", CommandResult(1, "", "no space"))
    other = DOCKER.replace("0", "f")
    with pytest.raises(GaudiError) as caught:
        start([DOCKER, "slurmd.service", other], engine)
    assert str(caught.value) == (
        f"docker start {LONG} failed: no space; start it manually, and run again. "
        f"docker start {LONG.replace('0', 'f')} failed: no space; start it manually, and run again."
    )
    assert caught.value.facts == {"unit": DOCKER}
    assert ["systemctl", "start", "slurmd.service"] in engine.calls
