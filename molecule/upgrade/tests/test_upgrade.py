# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Upgrades on three nodes with faults injected for real: what each node is like afterwards, and what was said.

The tests follow one another: each finds the nodes as the one before left them, and says so where it matters. A run
takes a node of three to another release in well under a minute, most of it DKMS; so one run meets several faults, on
different nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.long_rows import named_rows
from tests.sandbox_nodes import sandbox

from .nodes import KERNEL, MARKER, driver, everything, faults, run_in, wait_for
from .runs import Played, play, upgrade

NODES = ("node1", "node2", "node3")
OLD, OLD_PACKAGE = "1.23.0", "1.23.0-695"
NEW, NEW_PACKAGE = "1.24.1", "1.24.1-482"
# A healthy node may be upgraded although another was not, and all at once after the canary.
BOLD = {"gaudi_upgrade_serial": [1, "100%"], "gaudi_upgrade_max_fail_percentage": 100}
# The service that holds a card of node1 is there from the run before on.
AT_ONCE = {"gaudi_upgrade_serial": "100%", "gaudi_upgrade_stop_device_users": True}
WATCHER = "card-watcher.service"
WATCHER_UNIT = f"""\
[Unit]
Description=Has a card open, as an exporter of metrics has
[Service]
ExecStart=/bin/sh -c 'exec 9< {KERNEL}/dev/accel/accel0; exec sleep infinity'
"""


@pytest.fixture(scope="module", autouse=True)
def old_release(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Three nodes with the driver of the old release and nothing else of the collection."""
    for node in NODES:
        sandbox("fault", node, "clear")
    played = play("driver", tmp_path_factory.mktemp("old"), gaudi_release=OLD, gaudi_driver_reload=True)
    assert played.rc == 0, played.screen
    assert [node for node in NODES if not driver(node).is_whole_at(OLD_PACKAGE)] == []


@pytest.fixture
def untouched() -> Iterator[None]:
    """Nothing on any node is different after the test."""
    before = {node: everything(node) for node in NODES}
    yield
    assert {node: changed for node in NODES if (changed := set(everything(node)) ^ set(before[node]))} == {}


def is_one_sentence(message: str) -> bool:
    """Whether a message is meant for a person."""
    return "\n" not in message.strip() and "Traceback" not in message and message.rstrip().endswith((".", "`"))


REFUSED = {
    "release": ("9.9.9", {}, ("9.9.9", NEW, "gaudi_release_overrides")),
    "canary": (NEW, {"gaudi_upgrade_canary": "node9"}, ("gaudi_upgrade_canary", "node9")),
    "serial": (NEW, {"gaudi_upgrade_serial": 0}, ("gaudi_upgrade_serial", "0")),
    "serial in a list": (NEW, {"gaudi_upgrade_serial": [1, 0]}, ("gaudi_upgrade_serial", "0")),
    "percentage": (
        NEW,
        {"gaudi_upgrade_max_fail_percentage": 101},
        ("gaudi_upgrade_max_fail_percentage", "101"),
    ),
    "layer": (NEW, {"gaudi_upgrade_layers": ["kernel"]}, ("gaudi_upgrade_layers", "kernel")),
}


@pytest.mark.parametrize(("release", "variables", "words"), named_rows(REFUSED, {"release", "canary"}))
@pytest.mark.usefixtures("untouched")
def test_bad_input_is_one_sentence(
    release: str, variables: dict[str, object], words: tuple[str, ...], tmp_path: Path
) -> None:
    played = upgrade(release, tmp_path, **variables)
    assert played.rc != 0
    assert played.said, played.screen
    for message in played.said.values():
        assert is_one_sentence(message), message
        assert [word for word in words if word not in message] == [], message


@pytest.mark.in_turn
@pytest.mark.usefixtures("untouched")
def test_check_mode_tells_what_would_change_and_changes_nothing(tmp_path: Path) -> None:
    played = upgrade(NEW, tmp_path, "--check --diff", gaudi_upgrade_serial="100%")
    assert played.rc == 0, played.screen
    for node in NODES:
        result = played.of_driver(node)
        assert (result["changed"], result["state"], result["previous_release"]) == (True, "upgraded", OLD_PACKAGE)
        assert [step.split()[0] for step in result["steps"]][-3:] == ["hold", "load", "verify"]
    assert "-loaded release: 1.23.0" in played.screen
    assert "+loaded release: 1.24.1" in played.screen


@pytest.fixture
def broken_marker() -> Iterator[None]:
    """A marker on node1 that nobody can read."""
    run_in("node1", f"if [ -e {MARKER} ]; then mv {MARKER} /root/kept; fi; echo '{{\"state\": ' > {MARKER}")
    yield
    run_in("node1", f"rm {MARKER}; if [ -e /root/kept ]; then mv /root/kept {MARKER}; fi")


@pytest.mark.long
@pytest.mark.usefixtures("untouched", "broken_marker")
def test_a_marker_that_cannot_be_read_is_left_to_the_operator(tmp_path: Path) -> None:
    played = upgrade(NEW, tmp_path)
    assert played.rc != 0
    assert MARKER in played.said["node1"]
    assert is_one_sentence(played.said["node1"]), played.said
    assert set(played.states.values()) <= {"refused", "failed", "not reached"}


@pytest.mark.in_turn
@pytest.mark.usefixtures("untouched")
def test_a_drain_that_fails_ends_it_before_anything_is_touched(tmp_path: Path) -> None:
    commands = {
        "gaudi_upgrade_drain": "commands",
        "gaudi_drain_command": ["sh", "-c", "echo the scheduler is down >&2; exit 3"],
        "gaudi_drain_resume_command": ["true"],
    }
    played = upgrade(NEW, tmp_path, **commands)
    assert played.rc != 0
    assert "the scheduler is down" in played.said["node1"]
    assert is_one_sentence(played.said["node1"]), played.said
    assert (played.states["node2"], played.states["node3"]) == ("not reached", "not reached")


@pytest.fixture
def unfetched() -> None:
    """No packages of an earlier run on node1."""
    run_in("node1", "rm -rf /var/lib/gaudi3_scale/packages")


@pytest.mark.long
@pytest.mark.usefixtures("unfetched", "untouched")
def test_a_repository_that_is_gone_before_the_packages_are_fetched_changes_nothing(tmp_path: Path) -> None:
    with faults(node1="repository_loss"):
        played = upgrade(NEW, tmp_path)
    assert played.rc != 0
    assert "packages.sandbox.internal" in played.said["node1"]
    assert is_one_sentence(played.said["node1"]), played.said
    assert played.states["node2"] == "not reached"


@pytest.fixture
def watcher() -> Iterator[str]:
    """A service on node1 that has a card open."""
    unit = f"/etc/systemd/system/{WATCHER}"
    run_in("node1", f"cat > {unit} <<'END'\n{WATCHER_UNIT}END\nsystemctl daemon-reload; systemctl start {WATCHER}")
    yield run_in("node1", f"systemctl show --property MainPID --value {WATCHER}").strip()
    run_in("node1", f"systemctl stop {WATCHER}; rm {unit}; systemctl daemon-reload")


@pytest.mark.usefixtures("untouched")
def test_whoever_holds_a_card_is_named_and_left_alone(watcher: str, tmp_path: Path) -> None:
    played = upgrade(NEW, tmp_path)
    assert played.rc != 0
    assert f"process {watcher} (sleep) in {WATCHER}" in played.said["node1"]
    assert "stop_device_users" in played.said["node1"]
    assert is_one_sentence(played.said["node1"]), played.said
    assert played.states == {"node1": "refused", "node2": "not reached", "node3": "not reached"}
    assert run_in("node1", f"systemctl is-active {WATCHER}").strip() == "active"


@pytest.mark.long
def test_a_canary_with_seven_cards_goes_back_and_nothing_else_is_touched(tmp_path: Path) -> None:
    before = {node: everything(node) for node in ("node1", "node3")}
    with faults(node2=f"card_lost_at_load={NEW_PACKAGE}:3"):
        played = upgrade(NEW, tmp_path, gaudi_upgrade_canary="node2", gaudi_upgrade_max_fail_percentage=100)
        assert driver("node2").is_whole_at(OLD_PACKAGE)
    assert played.rc != 0
    assert played.states == {"node1": "not reached", "node2": "rolled_back", "node3": "not reached"}
    assert {node: everything(node) for node in before} == before
    assert "cards: found 7" in played.said["node2"]
    assert "expected 8" in played.said["node2"]
    marker = driver("node2").marker
    assert marker is not None
    assert (marker["state"], marker["previous"], marker["wanted"]) == ("rolled_back", OLD_PACKAGE, NEW_PACKAGE)


@pytest.fixture(scope="module")
def upward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """To the new release: node1 loses the repository on its way and has a busy card; node2 fails to compile."""
    run_in("node1", f"cat > /etc/systemd/system/{WATCHER} <<'END'\n{WATCHER_UNIT}END\n")
    run_in("node1", f"systemctl daemon-reload; systemctl start {WATCHER}")
    with faults(node1="repository_loss=rmmod", node2=f"dkms_build_error={NEW_PACKAGE}"):
        # Without the layer that makes the account of jobs.
        layers = {"gaudi_upgrade_layers": ["flags"], "gaudi_flags_owner": "root"}
        yield upgrade(NEW, tmp_path_factory.mktemp("upward"), gaudi_upgrade_stop_device_users=True, **layers, **BOLD)
    run_in("node1", f"systemctl stop {WATCHER}; rm /etc/systemd/system/{WATCHER}; systemctl daemon-reload")


def test_one_node_of_three_that_cannot_build_goes_back_and_the_others_are_upgraded(upward: Played) -> None:
    assert upward.rc != 0
    assert upward.states == {"node1": "upgraded", "node2": "rolled_back", "node3": "upgraded"}, upward.screen
    assert driver("node3").is_whole_at(NEW_PACKAGE)
    back = driver("node2")
    assert back.is_whole_at(OLD_PACKAGE)
    assert back.marker is not None
    assert back.marker["state"] == "rolled_back"


def test_the_build_s_own_error_is_the_reason(upward: Played) -> None:
    said = upward.of_driver("node2")
    assert said["state"] == "rolled_back"
    assert "DKMS" in said["msg"]
    assert "error:" in said["msg"]
    assert f"back on {OLD}, verified" in said["msg"]
    # DKMS's own log went with the release.
    assert "error:" in run_in("node2", f"cat {said['build_log']}")


def test_a_service_that_held_a_card_runs_again_on_the_new_driver(upward: Played) -> None:
    assert upward.states["node1"] == "upgraded"
    assert run_in("node1", f"systemctl is-active {WATCHER}").strip() == "active"
    steps = [step.split() for step in upward.of_driver("node1")["steps"]]
    assert ["stop", WATCHER] in steps
    assert ["start", WATCHER] in steps
    assert steps.index(["stop", WATCHER]) < [step[0] for step in steps].index("unload")


def test_ranks_get_the_vendor_s_environment_of_the_release_that_is_there(upward: Played) -> None:
    assert upward.states["node3"] == "upgraded", upward.screen
    ours = run_in("node3", "grep HABANA_PLUGINS_LIB_PATH= /etc/gaudi3_scale/environment").strip()
    assert f"export {ours}" in run_in("node3", "cat /etc/profile.d/habanalabs.sh")
    assert run_in("node3", f"ls {ours.partition('=')[2]}").strip() == "README"


def test_a_repository_that_is_gone_after_the_packages_were_fetched_is_not_missed(upward: Played) -> None:
    assert upward.states["node1"] == "upgraded"
    assert "unreachable" in run_in("node1", "ip route")
    assert driver("node1").is_whole_at(NEW_PACKAGE)


@pytest.fixture(scope="module")
def cut(upward: Played, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Back to the old release: the power of node1 is cut while its driver is built, and the SSH sessions of node3."""
    assert upward.states["node1"] == upward.states["node3"] == "upgraded"
    with faults(node1="power_loss=dkms", node3="ssh_loss=dkms"):
        return upgrade(OLD, tmp_path_factory.mktemp("cut"), **AT_ONCE, gaudi_upgrade_max_fail_percentage=100)


def test_nodes_that_were_lost_are_named(cut: Played) -> None:
    assert cut.rc != 0
    assert cut.states == {"node1": "unreachable", "node2": "unchanged", "node3": "unreachable"}, cut.screen


def test_a_cut_of_the_power_leaves_packages_half_way_and_a_marker_that_says_so(cut: Played) -> None:
    del cut
    found = driver("node1")
    assert "habanalabs-dkms=half-configured" in found.half
    assert found.modules == set()
    assert found.marker is not None
    assert (found.marker["state"], found.marker["phase"]) == ("changing", "install")
    assert (found.marker["previous"], found.marker["wanted"]) == (NEW_PACKAGE, OLD_PACKAGE)
    assert found.marker["packages"]["habanalabs-dkms"] == NEW_PACKAGE
    assert found.marker["cards"] == 8


def test_a_node_whose_ssh_was_cut_goes_on_alone(cut: Played) -> None:
    del cut
    wait_for("node3 has ended its change", lambda: (driver("node3").marker or {}).get("state") == "done", 120)
    assert driver("node3").is_whole_at(OLD_PACKAGE)


@pytest.fixture(scope="module")
def repeated(cut: Played, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The same command again."""
    del cut
    return upgrade(OLD, tmp_path_factory.mktemp("repeated"), **AT_ONCE)


def test_the_run_repeated_ends_what_was_cut_off(repeated: Played) -> None:
    assert repeated.rc == 0, repeated.screen
    assert [node for node in NODES if not driver(node).is_whole_at(OLD_PACKAGE)] == []
    marker = driver("node1").marker
    assert marker is not None
    assert (marker["state"], marker["wanted"]) == ("done", OLD_PACKAGE)
    result = repeated.of_driver("node1")
    # What it had before the cut run is what it would have gone back to, also now.
    assert result["previous_release"] == NEW_PACKAGE
    assert not run_in("node1", "dpkg --audit").strip()
    assert run_in("node1", f"systemctl is-active {WATCHER}").strip() == "active"


@pytest.mark.long
@pytest.mark.usefixtures("repeated", "untouched")
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    played = upgrade(OLD, tmp_path, gaudi_upgrade_serial="100%")
    assert played.rc == 0, played.screen
    assert {node: number for node, number in played.changed.items() if number} == {}, played.screen
    assert played.states == dict.fromkeys(NODES, "unchanged")
