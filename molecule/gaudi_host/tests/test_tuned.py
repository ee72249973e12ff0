# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real tuned: our profile on top of the active one, and what was active is active again afterwards.

tuned sets values of the real kernel, which a container may not write; so what is asked is which profile it has, what it
makes of that profile, and what it says in its own log that it tries to set.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("tuned")

WANTED = {"gaudi_host_cstates": ["no_c6"], "gaudi_host_numa_balancing": "disabled"}
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends tuned"
REMOVE = "DEBIAN_FRONTEND=noninteractive apt-get purge -y -q --auto-remove tuned; rm -rf /etc/tuned /var/log/tuned"
LOG = "/var/log/tuned/tuned.log"


def converge(directory: Path, **options: object) -> dict[str, int]:
    done = run(directory, "host", arguments="--limit node1", **options)
    assert done.status == "successful", done.stdout.read()[-4000:]
    return dict(done.stats["changed"])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    found = hosts()["node1"]
    if found.run(INSTALL).rc != 0:
        found.check_output(f"apt-get update -q && {INSTALL}")
    found.check_output("tuned-adm profile throughput-performance")
    yield found
    converge(tmp_path_factory.mktemp("off"))
    found.run(REMOVE)


def active(node: Host) -> str:
    return str(node.check_output("tuned-adm active")).removeprefix("Current active profile: ")


@pytest.mark.long
def test_check_mode_switches_nothing(node: Host, tmp_path: Path) -> None:
    done = run(tmp_path, "host", arguments="--limit node1 --check", **WANTED)
    assert done.stats["changed"] == {"node1": 1}
    assert active(node) == "throughput-performance"


def test_our_profile_is_active_and_sets_what_it_includes_too(node: Host, tmp_path: Path) -> None:
    node.check_output(f": > {LOG}")
    assert converge(tmp_path, **WANTED) == {"node1": 1}
    assert active(node) == "gaudi3-scale"
    log = node.file(LOG).content_string
    assert "static tuning from profile 'gaudi3-scale' applied" in log
    # The first is of throughput-performance.
    for key in ("vm.dirty_ratio", "kernel.numa_balancing"):
        assert f"sysctl parameter '{key}'" in log
    for own in ("systemd/system/gaudi3-scale-idle-states.service", "sysctl.d/91-gaudi3-scale-numa-balancing.conf"):
        assert not node.file(f"/etc/{own}").exists


@pytest.mark.usefixtures("node")
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert converge(tmp_path, **WANTED) == {}


def test_another_profile_of_the_operator_becomes_the_base(node: Host, tmp_path: Path) -> None:
    node.check_output("tuned-adm profile latency-performance")
    assert converge(tmp_path, **WANTED) == {"node1": 1}
    assert active(node) == "gaudi3-scale"
    assert node.file("/etc/tuned/gaudi3-scale/tuned.conf").contains("^include=latency-performance$")


def test_without_the_options_the_earlier_profile_is_active_again(node: Host, tmp_path: Path) -> None:
    assert converge(tmp_path) == {"node1": 1}
    assert active(node) == "latency-performance"
    assert not node.file("/etc/tuned/gaudi3-scale/tuned.conf").exists
    assert converge(tmp_path) == {}


@pytest.mark.long
def test_tuned_chooses_by_itself_again_where_it_had_chosen(node: Host, tmp_path: Path) -> None:
    node.check_output("tuned-adm auto_profile")
    recommended = active(node)
    converge(tmp_path, **WANTED)
    converge(tmp_path)
    assert active(node) == recommended
    assert node.check_output("cat /etc/tuned/profile_mode") == "auto"
