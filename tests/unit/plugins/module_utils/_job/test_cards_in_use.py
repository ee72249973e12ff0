# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who has which card: real files that real processes hold open, real locks, and the notes of jobs."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.part import Wanted, choose
from ansible_collections.gaudi3.scale.plugins.module_utils._job.cards_in_use import (
    Asker,
    Claim,
    choosing,
    claims,
    held,
    node_cards,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

ME = pwd.getpwuid(os.geteuid()).pw_name
# Opens a file, says so, and waits until its input ends.
HOLDER = "import sys; opened = open(sys.argv[1], 'rb'); print(flush=True); sys.stdin.read()"


class Units:
    """systemd as far as it is asked which units of jobs are there."""

    def __init__(self, *active: str) -> None:
        self.active = set(active)

    def __call__(self, argv: list[str], **_more: object) -> CommandResult:
        assert argv[:3] == ["systemctl", "show", "gaudi3-scale-job-*.service"]
        blocks = [f"Id=gaudi3-scale-job-{name}.service\nActiveState=active\n" for name in sorted(self.active)]
        ended = "Id=gaudi3-scale-job-ended.service\nActiveState=inactive\n"
        # As systemd shows a unit that it has still to start at boot.
        booting = "Id=gaudi3-scale-job-booting.service\nActiveState=inactive\nJob=118\n"
        return CommandResult(0, "\n".join([*blocks, ended, booting]), "")


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Eight cards whose accel index runs against their module id, with the files of their devices."""
    kernel = write_kernel(tmp_path / "kernel")
    (kernel / "dev/accel").mkdir(parents=True)
    for index in range(8):
        for name in (f"accel{index}", f"accel_controlD{index}"):
            (kernel / "dev/accel" / name).touch()
    return str(kernel)


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def note(state: str, name: str, **begun: object) -> None:
    """What a start of this job left."""
    started = Path(JobPaths(name, state).started)
    started.parent.mkdir(parents=True)
    started.write_text(json.dumps({"time": 1.0, **begun}), encoding="utf-8")


@pytest.fixture
def holder() -> Iterator[object]:
    with ExitStack() as stack:

        def hold(path: str, **environment: str) -> int:
            variables = {**os.environ, **environment}
            child = subprocess.Popen(
                [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
            )
            stack.callback(child.wait)
            assert child.stdin and child.stdout
            stack.callback(child.stdin.close)
            stack.callback(child.stdout.close)
            child.stdout.readline()
            return child.pid

        yield hold


def test_a_free_node_has_all_of_its_cards(root: str, state: str) -> None:
    cards = node_cards(Asker("n1", "mine", state_directory=state), Units(), root)
    assert (cards.host, cards.modules, cards.taken) == ("n1", tuple(range(8)), {})


def test_jobs_whose_units_are_there_have_what_they_noted(root: str, state: str) -> None:
    note(state, "a", modules=[0, 1], port=29500)
    note(state, "ended", modules=[2, 3])
    note(state, "mine", modules=[4, 5])
    note(state, "odd", modules=["6"], port=True)
    units = Units("a", "mine", "odd", "unknown")
    asker = Asker("n1", "mine", state_directory=state)
    assert claims(asker, units) == [Claim("a", (0, 1), 29500, False), Claim("odd", (), 0, False)]
    assert node_cards(asker, units, root).taken == {0: "held by job a", 1: "held by job a"}
    # It ends with the unit, however that ended.
    assert node_cards(asker, Units("mine"), root).taken == {}


def test_a_job_that_systemd_has_still_to_start_at_boot_has_its_cards(root: str, state: str) -> None:
    note(state, "booting", modules=[6, 7])
    cards = node_cards(Asker("n1", "mine", state_directory=state), Units(), root)
    assert cards.taken == dict.fromkeys((6, 7), "held by job booting")


def test_spares_share_what_they_may_never_use(root: str, state: str) -> None:
    note(state, "a", modules=[0], stands_by=True)
    said = {0: "held by job a, of which this is a spare"}
    assert node_cards(Asker("n1", "b", state_directory=state), Units("a"), root).taken == said
    assert node_cards(Asker("n1", "b", True, state), Units("a"), root).taken == {}


def test_who_has_a_device_open_has_the_module_that_sysfs_says(root: str, state: str, holder) -> None:
    pid = holder(f"{root}/dev/accel/accel7")
    asker = Asker("n1", "mine", state_directory=state)
    said = f"(process {pid} of {ME})"
    found = node_cards(asker, Units(), root).taken
    assert list(found) == [0]
    assert found[0].startswith("held by python") and found[0].endswith(said)


def test_ranks_that_slurm_or_ssh_started_are_those_of_their_job(root: str, state: str, holder) -> None:
    holder(f"{root}/dev/accel/accel7", GAUDI3_SCALE_JOB="books")
    holder(f"{root}/dev/accel/accel6", GAUDI3_SCALE_JOB="mine")
    pid = holder(f"{root}/dev/accel/accel5", SLURM_JOB_ID="71", GAUDI3_SCALE_JOB="no name")
    found = node_cards(Asker("n1", "mine", state_directory=state), Units(), root).taken
    assert found[0] == "held by job books"
    assert 1 not in found
    assert found[2].endswith(f"(process {pid} of {ME}, Slurm's job 71)")


def test_who_only_manages_a_card_does_not_have_it(root: str, state: str, holder) -> None:
    holder(f"{root}/dev/accel/accel_controlD7")
    assert node_cards(Asker("n1", state_directory=state), Units(), root).taken == {}


def test_a_trial_keeps_its_cards_until_it_is_over(root: str, state: str) -> None:
    asker = Asker("n1", state_directory=state)
    with choosing(state), held(state, (0, 3), "a trial of a probe"):
        assert node_cards(asker, Units(), root).taken == dict.fromkeys((0, 3), "held by a trial of a probe")
        # Whoever looks takes nothing away.
        assert node_cards(asker, Units(), root).taken == dict.fromkeys((0, 3), "held by a trial of a probe")
    assert node_cards(asker, Units(), root).taken == {}


def test_a_trial_that_was_killed_keeps_nothing(root: str, state: str) -> None:
    program = (
        "import sys, time\n"
        "from ansible_collections.gaudi3.scale.plugins.module_utils._job.cards_in_use import held\n"
        "with held(sys.argv[1], (5,), 'a trial'):\n"
        "    print(flush=True)\n"
        "    time.sleep(600)\n"
    )
    import_path = os.pathsep.join(filter(None, sys.path))
    child = subprocess.Popen(
        [sys.executable, "-c", program, state], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": import_path}
    )
    assert child.stdout
    with child.stdout:
        child.stdout.readline()
        assert node_cards(Asker("n1", state_directory=state), Units(), root).taken == {5: "held by a trial"}
        child.kill()
        child.wait()
    assert node_cards(Asker("n1", state_directory=state), Units(), root).taken == {}


def test_of_choosers_at_the_same_time_no_two_take_the_same(root: str, state: str) -> None:
    """Four of two cards each, with the node's real lock between the choice and the note of it."""
    units, taken = Units(), {}
    begin = threading.Barrier(4)

    def launch(name: str) -> None:
        begin.wait()
        with choosing(state):
            modules = choose([node_cards(Asker("n1", name, state_directory=state), units, root)], Wanted(2))
            note(state, name, modules=list(modules))
            units.active.add(name)
            taken[name] = modules

    threads = [threading.Thread(target=launch, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(module for modules in taken.values() for module in modules) == list(range(8))
