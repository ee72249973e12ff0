# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that strike in the middle of an upgrade: what they wait for, when they strike, what is gone with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.simulator import faults, losses
from sandbox.simulator.kernel_modules.modprobe import holders, with_modules
from sandbox.simulator.kernel_tree import build_error_flags, proc_modules
from sandbox.simulator.node_state import read, replace, write
from sandbox.simulator.open_devices import count_devices, count_open
from sandbox.simulator.readings import readings

from . import simulated

OLD, NEW = "1.23.0-695", "1.24.1-482"


@pytest.mark.parametrize(
    ("word", "parsed"),
    [
        ("dkms_build_error", {"dkms_build_error": True}),
        (f"dkms_build_error={NEW}", {"dkms_build_error": [NEW]}),
        (f"card_lost_at_load={NEW}:3", {"card_lost_at_load": f"{NEW}:3"}),
        (f"card_lost_at_load={NEW}", {"card_lost_at_load": f"{NEW}:7"}),
        ("power_loss=rmmod", {"power_loss": "rmmod:1"}),
        ("ssh_loss=apt-get:3", {"ssh_loss": "apt-get:3"}),
        ("repository_loss", {"repository_loss": True}),
        ("repository_loss=rmmod:2", {"repository_loss": "rmmod:2"}),
    ],
)
def test_what_the_faults_of_an_upgrade_take(word: str, parsed: dict[str, object]) -> None:
    assert faults.parse([word]) == parsed


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("dkms_build_error=1.24.1", "it takes true or RELEASE-BUILD"),
        ("card_lost_at_load=3", r"it takes RELEASE-BUILD\[:MODULE_ID\]"),
        ("card_lost_at_load=", "it takes RELEASE-BUILD"),
        ("power_loss", r"it takes PROGRAM\[:N\]"),
        ("power_loss=rmmod:0", "it takes PROGRAM"),
        ("ssh_loss=3", "it takes PROGRAM"),
        ("repository_loss=rmmod:x", "it takes true or PROGRAM"),
    ],
)
def test_a_fault_of_an_upgrade_that_makes_no_sense_is_refused(word: str, said: str) -> None:
    with pytest.raises(faults.FaultError, match=said):
        faults.parse([word])


def test_only_the_named_release_fails_to_compile() -> None:
    assert build_error_flags(simulated.loaded()) == set()
    assert build_error_flags(simulated.loaded(faults={"dkms_build_error": True})) == {"faults/dkms_build_error"}
    only = simulated.loaded(faults={"dkms_build_error": [NEW]})
    assert build_error_flags(only) == {f"faults/dkms_build_error-{NEW}"}


def test_a_card_is_gone_only_while_the_driver_of_that_release_is_loaded() -> None:
    lost = {"card_lost_at_load": f"{NEW}:3"}
    unloaded = replace(simulated.virgin(), faults=lost)
    assert len(readings(with_modules(unloaded, simulated.MODULES, OLD))) == 8
    seven = readings(with_modules(unloaded, simulated.MODULES, NEW))
    assert {0, 1, 2, 4, 5, 6, 7} == {reading.card.module_id for reading in seven}


def test_a_loss_counts_the_calls_of_its_program_and_strikes_once() -> None:
    waiting = {"power_loss": "rmmod:2", "hot_card": [1]}
    assert losses.count_call(waiting, "modprobe") == ([], waiting)
    struck, left = losses.count_call(waiting, "rmmod")
    assert (struck, left) == ([], {"power_loss": "rmmod:1", "hot_card": [1]})
    assert losses.count_call(left, "rmmod") == (["power_loss"], {"hot_card": [1]})


def test_the_repository_stays_lost_until_the_fault_is_cleared() -> None:
    struck, left = losses.count_call({"repository_loss": "rmmod:1"}, "rmmod")
    assert (struck, left) == (["repository_loss"], {"repository_loss": True})
    assert losses.count_call(left, "rmmod") == ([], left)


def test_a_loss_is_gone_from_the_node_before_it_strikes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut() -> None:
        assert read(tmp_path).faults == {"hot_card": [1]}
        raise KeyboardInterrupt

    monkeypatch.setattr(losses, "cut_power", cut)
    monkeypatch.setattr(losses, "prepare", lambda left: None)
    write(simulated.loaded(faults={"power_loss": "rmmod:1", "hot_card": [1]}), tmp_path)
    losses.called("modprobe", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        losses.called("rmmod", tmp_path)


def test_a_node_that_has_not_booted_yet_loses_nothing(tmp_path: Path) -> None:
    losses.called("update-grub", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def dkms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of the real dkms."""
    program = tmp_path / "dkms"
    program.write_text("the real one")
    monkeypatch.setattr(losses, "REAL_PROGRAMS", {program: {"build"}})
    monkeypatch.setattr(losses, "_route_to_repository", lambda operation: None)
    return program


def test_a_real_program_is_wrapped_while_a_fault_waits_for_it(dkms: Path) -> None:
    for _ in range(2):
        losses.prepare({"power_loss": "dkms:1"})
        assert dkms.with_name("dkms.real").read_text() == "the real one"
        assert f'gaudi-simulator loss dkms "$@"\nif [ -x {dkms}.real ]' in dkms.read_text()
    losses.prepare({"power_loss": "rmmod:1"})
    assert dkms.read_text() == "the real one"
    assert not dkms.with_name("dkms.real").exists()


@pytest.mark.parametrize(
    ("words", "counted"),
    [(["build", "-m", "habanalabs"], True), (["status"], False), (["build", "--simulate"], False)],
)
def test_only_calls_that_change_the_node_are_counted(
    dkms: Path, words: list[str], counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(losses, "called", calls.append)
    losses.main(["dkms", *words])
    assert calls == (["dkms"] if counted else [])


def test_the_ssh_daemon_that_listens_is_no_session() -> None:
    processes = {
        34: b"sshd: /usr/sbin/sshd -D [listener] 0 of 100-100 startups\0",
        50: b"sshd: operator [priv]\0",
        57: b"sshd: operator@notty\0",
        60: b"/bin/sh\0-c\0echo sshd: \0",
    }
    assert losses.sessions(processes) == [50, 57]


KERNEL = Path("/kernel")


@pytest.mark.parametrize(
    ("file", "opened"),
    [
        ("/kernel/dev/accel/accel3", 1),
        ("/kernel/dev/accel/accel_controlD3", 1),
        ("/kernel/dev/accel/accel3 (deleted)", 0),
        ("/kernel/dev/accel", 0),
        ("/kernel/sys/class/accel/accel3", 0),
        ("/dev/accel/accel3", 0),
        ("socket:[1234]", 0),
    ],
)
def test_open_files_that_are_cards(file: str, opened: int) -> None:
    assert count_devices(KERNEL, [file]) == opened


def test_this_process_with_a_card_open_is_counted(tmp_path: Path) -> None:
    card = tmp_path / "dev" / "accel" / "accel0"
    card.parent.mkdir(parents=True)
    card.touch()
    assert count_open(tmp_path) == 0
    with card.open():
        assert count_open(tmp_path) == 1
    assert count_open(tmp_path) == 0


def test_a_process_on_a_card_holds_the_driver_and_its_network_driver_not() -> None:
    node = simulated.loaded(modules=simulated.MODULES[:2])
    assert holders(node, "habanalabs") == ()
    assert holders(node, "habanalabs", open_devices=2) == ("a process",)
    assert "habanalabs 1048576 2 - " in proc_modules(node, open_devices=2)
