# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Idle states and NUMA balancing by what the simulated kernel holds: at once, after a boot, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

WANTED = {"gaudi_host_cstates": ["no_c6"], "gaudi_host_numa_balancing": "disabled"}
IN_USE = """
for state in {kernel}/sys/devices/system/cpu/cpu*/cpuidle/state*; do
    echo $(cat $state/name) $(cat $state/disable)
done | sort -u
"""
BALANCING = "{kernel}/proc/sys/kernel/numa_balancing"
AFTER_BOOT = ["C1 0", "C1E 0", "C6 0", "POLL 0"]
WITHOUT_C6 = ["C1 0", "C1E 0", "C6 1", "POLL 0"]


def converge(directory: Path, **options: object) -> dict[str, int]:
    done = run(directory, "host", arguments="--limit node1", **options)
    assert done.status == "successful", done.stdout.read()[-4000:]
    return dict(done.stats["changed"])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    yield hosts()["node1"]
    converge(tmp_path_factory.mktemp("off"))


def states(node: Host, kernel: str) -> list[str]:
    return list(node.check_output(IN_USE.format(kernel=kernel)).splitlines())


def balancing(node: Host, kernel: str) -> str:
    return str(node.file(BALANCING.format(kernel=kernel)).content_string).strip()


def test_c6_is_out_of_use_at_once_and_no_other_state(node: Host, kernel: str, tmp_path: Path) -> None:
    assert states(node, kernel) == AFTER_BOOT
    assert converge(tmp_path, **WANTED) == {"node1": 1}
    assert states(node, kernel) == WITHOUT_C6
    assert balancing(node, kernel) == "0"
    assert node.service("gaudi3-scale-idle-states").is_enabled
    assert node.run("systemd-analyze verify /etc/systemd/system/gaudi3-scale-idle-states.service").rc == 0


@pytest.mark.usefixtures("node")
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert converge(tmp_path, **WANTED) == {}


def test_the_unit_finds_c6_where_another_kernel_has_it(node: Host, kernel: str) -> None:
    """As after a boot with another order of states: the unit knows them by name."""
    node.check_output(
        f"for file in {kernel}/sys/devices/system/cpu/cpu*/cpuidle/state*/disable; do echo 0 > $file; done"
    )
    node.check_output("systemctl restart gaudi3-scale-idle-states")
    assert states(node, kernel) == WITHOUT_C6


def test_without_the_options_the_kernel_has_what_it_had(node: Host, kernel: str, tmp_path: Path) -> None:
    assert converge(tmp_path) == {"node1": 1}
    assert states(node, kernel) == AFTER_BOOT
    assert balancing(node, kernel) == "1"
    assert not node.file("/etc/systemd/system/gaudi3-scale-idle-states.service").exists
    assert converge(tmp_path) == {}
