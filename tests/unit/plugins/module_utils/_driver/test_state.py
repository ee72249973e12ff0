# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's driver from nothing to a release, to another one and back, with every step failing once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver import dkms_repair
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.plan import DriverOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node import kernel_modules
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._node.lock import exclusive
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.long_rows import each, rows_of
from ansible_collections.gaudi3.scale.tests.unit.played_node import (
    CERTIFICATE,
    KERNEL,
    MOK_LIST,
    PACKAGES,
    SECURE_BOOT,
    SIGNING,
    PlayedNode,
    PowerCut,
)

MODULES = find_release("1.24.1").modules
UPGRADE: dict[str, Any] = {"release": "1.24.1", "reload": True}


@pytest.fixture(autouse=True)
def _no_dkms_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be building modules of its own."""
    monkeypatch.setattr(dkms_repair, "working", lambda *_: [])


@pytest.fixture
def node(tmp_path: Path) -> PlayedNode:
    return PlayedNode(tmp_path)


@pytest.fixture
def old(node: PlayedNode) -> PlayedNode:
    """A node that has 1.23.0."""
    node.converge(release="1.23.0")
    return node


def marker(node: PlayedNode) -> dict[str, Any]:
    return json.loads((node.root / "var/lib/gaudi3_scale/driver.json").read_text())


def test_a_first_run_installs_builds_and_loads_and_a_second_does_nothing(node: PlayedNode) -> None:
    first = node.converge()
    assert first["state"] == "installed"
    assert first["previous_release"] is None
    assert [step.split()[0] for step in first["steps"]] == ["fetch", "install", "list", "build", "hold", "load"]
    assert first["loaded"] == list(MODULES)
    assert first["loaded_version"] == "1.24.1-abcdef"
    assert first["held"] == list(PACKAGES)
    assert (node.root / "etc/modules-load.d/habanalabs.conf").read_text().splitlines()[1:] == list(MODULES)
    second = node.converge()
    assert (second["changed"], second["state"], second["diff"], second["steps"]) == (False, "unchanged", [], [])
    assert node.commands == []


def test_check_mode_promises_what_the_run_then_does(node: PlayedNode) -> None:
    promised = node.converge(check_mode=True)
    assert node.commands == []
    assert not (node.root / "var/lib/gaudi3_scale").exists()
    done = node.converge()
    assert promised["steps"] == done["steps"]
    reported, real = promised["diff"][0]["after"].splitlines(), done["diff"][0]["after"].splitlines()
    assert reported[:-1] == real[:-1]
    assert (reported[-1], real[-1]) == ("loaded release: 1.24.1", "loaded release: 1.24.1-abcdef")


def test_another_release_is_not_replaced_unless_asked_for(old: PlayedNode) -> None:
    before = old.state()
    for check_mode in (True, False):
        with pytest.raises(GaudiError, match=r"release 1\.23\.0 is loaded.*upgrade_driver\.yml") as caught:
            old.converge(check_mode=check_mode, release="1.24.1")
        assert caught.value.facts["state"] == "refused"
    assert old.state() == before
    assert old.commands == []


def test_an_upgrade_and_the_way_down_again(old: PlayedNode) -> None:
    up = old.converge(**UPGRADE)
    assert (up["state"], up["previous_release"], up["loaded_version"]) == ("upgraded", "1.23.0-695", "1.24.1-abcdef")
    assert [step.split()[0] for step in up["steps"]] == [
        "keep",
        "fetch",
        "unload",
        "install",
        "list",
        "build",
        "hold",
        "load",
        "verify",
    ]
    assert old.commands[2][:1] == ["rmmod"]
    assert marker(old)["state"] == "done"
    assert not old.converge(**UPGRADE)["changed"]
    down = old.converge(release="1.23.0", reload=True)
    assert (down["state"], down["loaded_version"]) == ("downgraded", "1.23.0-abcdef")


FAILURES = {
    "rmmod": CommandResult(1, "", "rmmod: ERROR: Module habanalabs_ib is in use"),
    "apt-get install /": CommandResult(100, "", "E: Sub-process /usr/bin/dpkg returned an error code (1)"),
    "dkms install": CommandResult(10, "", "Error! Bad return status"),
    "modprobe habanalabs_cn": CommandResult(1, "", "modprobe: ERROR: could not insert 'habanalabs_cn'"),
}


@pytest.mark.parametrize("command", FAILURES)
def test_a_step_that_fails_leads_back_to_the_release_that_the_node_had(old: PlayedNode, command: str) -> None:
    before = old.state()
    old.breaks_once = {command: FAILURES[command]}
    with pytest.raises(GaudiError, match=r"the node is back on 1\.23\.0, verified") as caught:
        old.converge(**UPGRADE)
    assert caught.value.facts["state"] == "rolled_back"
    assert old.state() == before
    assert marker(old)["state"] == "rolled_back"
    assert old.converge(**UPGRADE)["state"] == "upgraded"


def test_a_card_that_is_lost_with_the_new_driver_leads_back(old: PlayedNode) -> None:
    before = old.state()
    old.lost_with = "1.24.1"
    with pytest.raises(GaudiError, match=r"cards: found 7 .*expected 8") as caught:
        old.converge(**UPGRADE)
    assert caught.value.facts["state"] == "rolled_back"
    assert old.state() == before


def test_a_node_that_cannot_go_back_is_said_to_need_a_person(old: PlayedNode) -> None:
    old.breaks = {"modprobe": CommandResult(1, "", "modprobe: ERROR: could not insert 'habanalabs_compat'")}
    with pytest.raises(GaudiError, match=r"going back to 1\.23\.0 failed too") as caught:
        old.converge(**UPGRADE)
    assert caught.value.facts["state"] == "failed"
    assert marker(old)["state"] == "failed"
    old.breaks = {}
    assert old.converge(**UPGRADE)["loaded_version"] == "1.24.1-abcdef"


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ("1.24.1-482", "was not found"),
        ("1.23.0-695", "Rollback to 1.23.0-695 would not be possible, so nothing was changed"),
    ],
)
def test_packages_that_are_not_to_be_had_stop_it_before_anything_is_touched(
    old: PlayedNode, gone: str, words: str
) -> None:
    before = old.state()
    for directory in (old.root / "var/lib/gaudi3_scale/packages").iterdir():
        for file in directory.glob("*.deb"):
            file.unlink()
    old.offered.remove(gone)
    with pytest.raises(GaudiError, match=words) as caught:
        old.converge(**UPGRADE)
    assert "state" not in caught.value.facts
    assert old.state() == before
    assert {command[0] for command in old.commands} == {"sh"}


def commands_of_an_upgrade(tmp_path: Path) -> int:
    node = PlayedNode(tmp_path)
    node.converge(release="1.23.0")
    node.converge(**UPGRADE)
    return len(node.commands)


@each(5)
@pytest.mark.parametrize("target", ["1.24.1", "1.23.0"])
def test_a_power_cut_at_any_command_is_mended_by_the_next_run(tmp_path: Path, target: str, nth: int) -> None:
    count = commands_of_an_upgrade(tmp_path / "whole")
    assert count > len(MODULES) * 2
    for cut in rows_of(range(1, count + 1), nth):
        node = PlayedNode(tmp_path / f"{cut}")
        node.converge(release="1.23.0")
        node.cut_at = cut
        with pytest.raises(PowerCut):
            node.converge(**UPGRADE)
        node.boot()
        node.converge(release=target, reload=True)
        release = find_release(target)
        assert node.state()["packages"] == dict.fromkeys(PACKAGES, (release.package_version, "installed")), cut
        assert (node.driver, node.loaded, sorted(node.held)) == (target, list(MODULES), list(PACKAGES)), cut
        assert (release.package_version, KERNEL) in node.built
        assert not node.converge(release=target, reload=True)["changed"], cut
        files = node.root / "var/lib/gaudi3_scale/driver.json"
        assert not files.exists() or marker(node)["state"] == "done"


def test_a_holder_is_named_and_stopped_only_where_that_was_asked_for(old: PlayedNode, monkeypatch: Any) -> None:
    exporter = Holder(4711, "exporter", "gaudi-exporter.service", ("accel0",))
    shell = Holder(4712, "python3", "session-3.scope", ("accel1",))
    old.active_units.add(exporter.unit)
    before = old.state()
    held = [exporter, shell]
    monkeypatch.setattr(
        kernel_modules, "find_holders", lambda *_: [h for h in held if h is shell or h.unit in old.active_units]
    )
    with pytest.raises(GaudiError, match=r"process 4711 \(exporter\) in gaudi-exporter\.service; process 4712"):
        old.converge(**UPGRADE)
    with pytest.raises(GaudiError, match=r"held by process 4712 \(python3\) in session-3\.scope: end them\.$"):
        old.converge(**UPGRADE, stop_device_users=True)
    assert old.state() == before
    assert old.commands == []
    held.remove(shell)
    steps = old.converge(**UPGRADE, stop_device_users=True)["steps"]
    assert "stop gaudi-exporter.service" in steps
    assert steps.index("verify 8") < steps.index("start gaudi-exporter.service")
    assert exporter.unit in old.active_units
    assert marker(old)["stopped"] == [exporter.unit]


def test_a_node_whose_firmware_is_half_written_is_refused(old: PlayedNode) -> None:
    file = old.root / "var/lib/gaudi3_scale/firmware.json"
    file.write_text(json.dumps({"cards": {}, "modules": ["habanalabs"]}))
    before = old.state()
    with pytest.raises(GaudiError, match=r"firmware is not finished .*firmware\.json.*upgrade_firmware\.yml"):
        old.converge(**UPGRADE)
    assert (old.state(), old.commands) == (before, [])
    file.unlink()
    assert old.converge(**UPGRADE)["state"] == "upgraded"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": "dancing", "previous": "", "wanted": ""}', '{"x": 1}'])
def test_a_marker_that_cannot_be_read_stops_everything(old: PlayedNode, text: str) -> None:
    file = old.root / "var/lib/gaudi3_scale/driver.json"
    file.write_text(text)
    before = old.state()
    with pytest.raises(GaudiError, match=r"driver\.json, which records how far .* cannot be read"):
        old.converge(**UPGRADE)
    assert old.state() == before
    assert old.commands == []
    assert file.read_text() == text


def test_an_unknown_release_is_refused_before_the_node_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"9\.9\.9.*gaudi_release_overrides"):
        converge(DriverOptions(release="9.9.9"), lambda *_argv, **_more: pytest.fail("ran"), False, str(tmp_path))


def tree(node: PlayedNode, version: str, source: str | None = None) -> Path:
    """A version in DKMS's tree on disk, with a link to its source or without."""
    directory = node.root / "var/lib/dkms/habanalabs" / version
    directory.mkdir(parents=True)
    if source is not None:
        (directory / "source").symlink_to(source)
    return directory


def secure(node: PlayedNode, trusted: bytes = b"") -> None:
    """Switch Secure Boot on, with a firmware that trusts this."""
    node.efi = {SECURE_BOOT: b"\1", MOK_LIST: b"keys of others" + trusted}
    node.show_kernel()


def actions(result: dict[str, Any]) -> list[str]:
    return [step.split()[0] for step in result["steps"]]


def everything(node: PlayedNode) -> list[str]:
    """Every file and directory of the node, its /proc and /sys aside."""
    return sorted(str(path) for path in node.root.rglob("*") if node.kernel_root not in path.parents)


FIRST = ["fetch", "install", "list", "build", "hold", "load"]


def test_a_damaged_tree_is_mended_and_the_node_looked_at_again_before_anything_else(old: PlayedNode) -> None:
    old.packages["linux-headers-6.8.0-45-generic"] = ("1", "installed")
    wreck = tree(old, "1.22.0-740")
    before, files = old.state(), everything(old)
    # While it lies there dkms says nothing of what it has, so a look ahead cannot know that all is built.
    promised = old.converge(check_mode=True, release="1.23.0")
    assert actions(promised) == ["mend", "build"]
    assert "damaged: habanalabs 1.22.0-740 is in the DKMS tree" in promised["diff"][0]["before"]
    assert "damaged" not in promised["diff"][0]["after"]
    assert (old.commands, everything(old)) == ([], files)
    done = old.converge(release="1.23.0")
    assert actions(done) == ["mend"]
    assert (done["changed"], old.commands, old.state()) == (True, [], before)
    assert not wreck.exists()
    assert len(list((old.root / "var/lib/gaudi3_scale/dkms_set_aside").glob("1.22.0-740.*"))) == 1
    assert not old.converge(release="1.23.0")["changed"]


def test_an_upgrade_of_a_node_with_a_damaged_tree_mends_it_and_goes_through(old: PlayedNode) -> None:
    tree(old, "1.22.0-740")
    up = old.converge(**UPGRADE)
    assert actions(up)[:4] == ["mend", "keep", "fetch", "unload"]
    assert (up["state"], up["previous_release"], old.driver) == ("upgraded", "1.23.0-695", "1.24.1")
    # What it goes back to is known from the look after the mending.
    assert marker(old)["packages"] == dict.fromkeys(PACKAGES, "1.23.0-695")


def test_a_package_whose_source_is_lost_is_installed_again(node: PlayedNode) -> None:
    node.converge()
    tree(node, "1.24.1-482", str(node.root / "usr/src/habanalabs-1.24.1-482"))
    shutil.rmtree(node.root / "usr/src/habanalabs-1.24.1-482")
    node.owners = {"/usr/src/habanalabs-1.24.1-482/dkms.conf": "habanalabs-dkms"}
    promised, commands = node.converge(check_mode=True), list(node.commands)
    done = node.converge()
    assert commands == []
    assert done["steps"] == promised["steps"]
    assert done["steps"][:2] == ["fetch habanalabs-dkms", "install habanalabs-dkms"]
    assert done["diff"] == promised["diff"]
    assert any("--reinstall" in command and command[-1].endswith(".deb") for command in node.commands)
    assert not node.converge()["changed"]


def test_what_a_person_put_into_dkms_is_told_and_left_alone(node: PlayedNode) -> None:
    node.converge()
    own = node.root / "home/me"
    own.mkdir(parents=True)
    (own / "dkms.conf").touch()
    tree(node, "9.9.9-1", str(own))
    files = everything(node)
    for check_mode in (True, False):
        reported = node.converge(check_mode=check_mode)
        assert (reported["changed"], reported["diff"], node.commands) == (False, [], [])
        assert [line.partition(" (")[0] for line in reported["warnings"]] == [
            "habanalabs 9.9.9-1 was added to DKMS manually"
        ]
    assert everything(node) == files


def test_behind_the_barrier_a_first_installation_builds_and_does_not_load_and_says_why(node: PlayedNode) -> None:
    secure(node)
    promised = node.converge(check_mode=True)
    assert node.commands == []
    done = node.converge()
    assert promised["steps"] == done["steps"]
    assert actions(done) == FIRST[:-1]
    assert (done["loaded"], node.loaded, done["state"]) == ([], [], "installed")
    assert ("1.24.1-482", KERNEL) in node.built
    for result in (promised, done, node.converge()):
        assert len(result["warnings"]) == 1
        assert "Secure Boot is on and DKMS has no key" in result["warnings"][0]
    assert not node.converge()["changed"]
    secure(node, CERTIFICATE)
    # Signed and trusted now: the driver is built again with the key, and loaded.
    assert actions(node.converge(**SIGNING)) == ["sign", "build", "load"]


def test_behind_the_barrier_another_release_is_refused_before_anything_is_touched(old: PlayedNode) -> None:
    secure(old)
    before, files = old.state(), everything(old)
    for check_mode in (True, False):
        with pytest.raises(GaudiError, match=r"to release 1\.24\.1: Secure Boot is on and DKMS has no key") as caught:
            old.converge(check_mode=check_mode, **UPGRADE)
        assert caught.value.facts["state"] == "refused"
        assert old.commands == []
    assert (old.state(), everything(old)) == (before, files)


def test_behind_the_barrier_the_key_is_asked_for_and_nothing_else_is_done(old: PlayedNode) -> None:
    secure(old)
    before, files = old.state(), everything(old)
    promised = old.converge(check_mode=True, **UPGRADE, **SIGNING)
    assert actions(promised) == ["sign"]
    assert "to prepare for signing: /mok/m.der" in promised["diff"][0]["before"]
    assert "to prepare for signing" not in promised["diff"][0]["after"]
    assert (old.commands, everything(old)) == ([], files)
    asked = ["mokutil", "--import", "/mok/m.der", "--hash-file", "/mok/hash"]
    for commands in ([asked], []):
        with pytest.raises(GaudiError, match=r"/mok/m\.der waits to be enrolled: restart the node") as caught:
            old.converge(**UPGRADE, **SIGNING)
        assert caught.value.facts["state"] == "refused"
        assert old.commands == commands
    assert old.state() == before
    # The person at the console said yes.
    secure(old, CERTIFICATE)
    assert old.converge(**UPGRADE, **SIGNING)["state"] == "upgraded"
    assert ("1.24.1-482", KERNEL) in old.signed


def test_a_driver_is_signed_from_the_first_build_on(node: PlayedNode) -> None:
    secure(node, CERTIFICATE)
    promised = node.converge(check_mode=True, **SIGNING)
    assert not (node.root / "etc/dkms").exists()
    done = node.converge(**SIGNING)
    assert actions(done) == ["sign", *FIRST]
    assert done["steps"] == promised["steps"]
    assert ("1.24.1-482", KERNEL) in node.signed
    assert not node.converge(**SIGNING)["changed"]


def test_an_interrupted_change_that_cannot_be_finished_leads_back(old: PlayedNode, tmp_path: Path) -> None:
    old.converge(**UPGRADE)
    loading = [command[0] for command in old.commands].index("modprobe") + 1
    node = PlayedNode(tmp_path / "again")
    node.converge(release="1.23.0")
    before = node.state()
    node.cut_at = loading
    with pytest.raises(PowerCut):
        node.converge(**UPGRADE)
    node.lost_with = "1.24.1"
    node.boot()
    assert node.driver == "1.24.1"
    with pytest.raises(GaudiError, match=r"the node is back on 1\.23\.0, verified\. .*cards: found 7") as caught:
        node.converge(**UPGRADE)
    assert caught.value.facts["state"] == "rolled_back"
    assert node.state() == before


def test_two_runs_do_not_change_a_node_at_once(node: PlayedNode) -> None:
    with exclusive("driver", 0, str(node.root)):
        with pytest.raises(GaudiError, match="Another run changes the driver of this node"):
            node.converge(lock_timeout=0)
        assert node.commands == []
        # Who only looks waits for nobody.
        assert node.converge(check_mode=True, lock_timeout=0)["changed"]
    assert node.converge(lock_timeout=0)["changed"]


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_signing_key_that_is_not_there_is_refused_before_anything_is_done(node: PlayedNode, check_mode: bool) -> None:
    files = everything(node)
    with pytest.raises(GaudiError, match=r"signing key: /mok/other\.key is not on the node"):
        node.converge(check_mode=check_mode, **{**SIGNING, "signing_key": "/mok/other.key"})
    assert (node.commands, everything(node)) == ([], files)


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_release_whose_boot_firmware_the_cards_cannot_start_with_is_refused(
    old: PlayedNode, check_mode: bool
) -> None:
    old.pci_id = "0x1020"
    old.show_kernel()
    before, files = old.state(), everything(old)
    with pytest.raises(GaudiError, match=r"Gaudi 2 cards with SPI .* the boot firmware of release 1\.20\.1") as caught:
        old.converge(check_mode=check_mode, release="1.20.1", reload=True)
    assert caught.value.facts["state"] == "refused"
    assert (old.commands, old.state(), everything(old)) == ([], before, files)
