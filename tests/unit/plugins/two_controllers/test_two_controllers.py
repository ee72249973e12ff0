# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two controllers at once on what a module writes: one waits, and the node is as after one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.build import converge as build_part
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.plan import BundleOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.plan import FirmwareOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.state import converge as card_firmware
from ansible_collections.gaudi3.scale.plugins.module_utils._flags import state as environment
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain import state as service
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.collection_archive import archive
from ansible_collections.gaudi3.scale.tests.unit.described_job import job_on
from ansible_collections.gaudi3.scale.tests.unit.flag_options import options as flag_options
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._containers.test_state import Node as Engines
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._fabric.test_state import Node as Fabric
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._firmware.test_state import NEW
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._firmware.test_state import Node as Cards
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._host.test_state import Machine
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._upgrade.drain.test_commands import (
    Site as Scheduler,
)
from ansible_collections.gaudi3.scale.tests.unit.plugins.two_controllers.two_runs import state_of, stepping, two_at_once
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit

Act = Callable[[Callable[[], None]], dict[str, Any]]
CHANGES = ("enable", "restart", "daemon-reload", "update-grub", "--up")


def flags(place: Path) -> Act:
    (place / "etc").mkdir(parents=True)
    # A person's own file: it has to be kept, once.
    (place / "etc/environment").write_text("OMP_NUM_THREADS=3\n", encoding="utf-8")
    asked = flag_options(place)
    return lambda step: environment.converge(asked, check_mode=False)


def host(place: Path) -> Act:
    machine = Machine(place)

    def act(step: Callable[[], None]) -> dict[str, Any]:
        machine.run = stepping(machine.run, step, *CHANGES)
        return machine.converge()

    return act


def fabric(place: Path) -> Act:
    node = Fabric(place)
    node.load()

    def act(step: Callable[[], None]) -> dict[str, Any]:
        node.run = stepping(node.run, step, *CHANGES)
        return node.converge()

    return act


def engines(place: Path) -> Act:
    place.mkdir()
    node = Engines(place, "dockerd", "podman")
    node.write("docker/daemon.json", '{"log-driver": "local"}\n')
    return lambda step: node.converge()


def drain(place: Path) -> Act:
    place.mkdir()
    wishes = {**Scheduler(place).options, "state": "drained"}
    asked = service.DrainOptions(**wishes)
    # The reason is given to the scheduler by a program, and has a time in it.
    return lambda step: service.converge(asked, stepping(run_process, step, "sh"), check_mode=False)


def firmware(place: Path) -> Act:
    write_kernel(place / "kernel")
    (place / "image").write_bytes(b"\xd0\x0d\xfe\xed hl-gaudi3-" + NEW.encode() + b"\x00")
    node = Cards(place)
    asked = FirmwareOptions(
        state="flashed",
        release="1.24.1",
        accept={"gaudi3": NEW},
        image=str(place / "image"),
        cards=8,
        kernel_root=str(node.kernel),
        settle_timeout=0,
    )
    slow = ("systemd-run", "habanalabs")
    return lambda step: card_firmware(asked, stepping(node, step, *slow), False, str(place), lambda _program: True)


def job_start(place: Path) -> Act:
    job, paths, unit = job_on(place), paths_in(place), JobUnit(paths_in(place))
    return lambda step: start(job, paths, stepping(unit, step, "start"))


def job_removal(place: Path) -> Act:
    job, paths, unit = job_on(place), paths_in(place), JobUnit(paths_in(place))
    start(job, paths, unit)
    unit.end()
    return lambda step: remove(paths, stepping(unit, step, "disable", "daemon-reload"), check_mode=False)


def paths_in(place: Path) -> JobPaths:
    return JobPaths("demo", str(place / "state"), str(place / "log"), str(place / "units"))


def bundle(place: Path) -> Act:
    place.mkdir()
    (place / "requirements.yml").write_text("collections: []\n", encoding="utf-8")
    asked = BundleOptions(
        path=str(place / "bundle"),
        part="files",
        release="1.24.1",
        packages_url="https://vault.example.com",
        files=[str(place / "requirements.yml")],
    )
    return lambda step: build_part(asked, run_process, check_mode=False)


def collection(place: Path) -> Act:
    for name, text in {
        "MANIFEST.json": '{"collection_info": {"namespace": "a", "name": "b", "version": "1.0.0"}}',
        "FILES.json": '{"files": [{"name": "."}, {"name": "README.md"}]}',
        "README.md": "A collection.\n",
    }.items():
        (place / "source").mkdir(parents=True, exist_ok=True)
        (place / "source" / name).write_text(text, encoding="utf-8")
    (place / "made").mkdir()
    return lambda step: {"changed": archive(str(place / "source"), str(place / "made"), run_process)}


LOCKED = (flags, host, fabric, engines, drain)
# What these leave has a time or a secret of each run in it.
IN_TURNS = (firmware, job_start, job_removal)


@pytest.mark.parametrize("writer", [*LOCKED, bundle, collection], ids=lambda writer: writer.__name__)
def test_two_at_once_leave_what_one_leaves(writer: Callable[[Path], Act], tmp_path: Path) -> None:
    both = two_at_once(writer(tmp_path / "two"), tmp_path / "two")
    assert both.tracebacks == []
    assert both.took_turns
    assert both.results and all(len(sentence.splitlines()) == 1 for sentence in both.refusals)
    writer(tmp_path / "one")(lambda: None)
    assert _without_times(state_of(tmp_path / "two")) == _without_times(state_of(tmp_path / "one"))


@pytest.mark.parametrize("writer", IN_TURNS, ids=lambda writer: writer.__name__)
def test_two_at_once_take_turns(writer: Callable[[Path], Act], tmp_path: Path) -> None:
    both = two_at_once(writer(tmp_path / "two"), tmp_path / "two")
    assert both.tracebacks == []
    assert both.took_turns and len(both.turns) > 1
    assert both.results and all(len(sentence.splitlines()) == 1 for sentence in both.refusals)


@pytest.mark.parametrize("writer", LOCKED, ids=lambda writer: writer.__name__)
def test_the_turns_are_seen_at_all(writer: Callable[[Path], Act], tmp_path: Path) -> None:
    """Without a step to be seen the test above would hold whatever happened."""
    assert len(two_at_once(writer(tmp_path / "two"), tmp_path / "two").turns) > 1


def test_what_a_person_wrote_is_kept_once(tmp_path: Path) -> None:
    both = two_at_once(flags(tmp_path / "two"), tmp_path / "two")
    kept = list((tmp_path / "two/etc").glob("*.bak"))
    assert [path.read_text() for path in kept] == ["OMP_NUM_THREADS=3\n"]
    assert sorted(result["changed"] for result in both.results) == [False, True]


def test_two_who_want_different_things_leave_the_whole_of_one(tmp_path: Path) -> None:
    place = tmp_path / "two"
    wanted = [flag_options(place, environment={"WHO": who, "OMP_NUM_THREADS": number}) for who, number in _WHO]

    def act(step: Callable[[], None]) -> dict[str, Any]:
        # Each process takes another one of the wishes: the one that comes first leaves its mark.
        mine = tmp_path / "taken"
        try:
            mine.mkdir()
            asked = wanted[0]
        except FileExistsError:
            asked = wanted[1]
        return environment.converge(asked, check_mode=False)

    both = two_at_once(act, place)
    assert both.tracebacks == [] and both.took_turns
    text = (place / "etc/environment").read_text(encoding="utf-8")
    assert text == (place / "etc/.environment.written").read_text(encoding="utf-8")
    assert any(f"WHO={who}\n" in text and f"OMP_NUM_THREADS={number}\n" in text for who, number in _WHO)


_WHO = (("first", "2"), ("second", "3"))


def test_who_waits_too_long_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ansible_collections.gaudi3.scale.plugins.module_utils._node import lock

    monkeypatch.setattr(lock, "SHORT_S", 0.0)
    both = two_at_once(flags(tmp_path / "two"), tmp_path / "two")
    assert both.tracebacks == []
    assert len(both.results) == 1
    assert "Another run changes the flags of this node" in both.refusals[0]


def _without_times(state: dict[str, str]) -> dict[str, str]:
    """Backups are called after the time, and a drain's note has it."""
    named = {name.partition(".2")[0] if name.endswith(".bak") else name: text for name, text in state.items()}
    return {name: "" if name.startswith("state/") else text for name, text in named.items()}
