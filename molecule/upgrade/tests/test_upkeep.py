# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What happens to a driver once it is there: another kernel, a killed package manager, a damaged DKMS tree.

Each on a node of its own, and one run of the driver's layer that has to set all three right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .nodes import driver, everything, run_in, wait_for
from .runs import Played, play

# Three real builds; tests/unit/plugins/module_utils/_driver has each damage.
pytestmark = pytest.mark.long

RELEASE, PACKAGE = "1.24.1", "1.24.1-482"
TREE = "/var/lib/dkms/habanalabs"
# Debian's other kernel of the day, as its meta package names it.
OTHER_KERNEL = """
apt-get -q update > /dev/null
apt-cache depends --important linux-headers-cloud-amd64 | sed -n 's/.*Depends: linux-headers-//p'
"""
# Killed while the package's own script builds the driver.
KILLED_DPKG = f"""
file=$(ls /var/lib/gaudi3_scale/packages/{PACKAGE}/habanalabs-dkms_*.deb)
setsid apt-get -y --reinstall install $file > /root/killed.log 2>&1 &
main=$!
until [ -e {TREE}/{PACKAGE}/build/make.log ]; do sleep 0.05; done
kill -9 -- -$main
sleep 1
pkill -9 -x dkms
pkill -9 -x make
true
"""


# dpkg has a terminal of its own, and its scripts outlive a kill: what they still write would be taken for check mode's.
AT_WORK = "pgrep -x 'apt-get|dpkg|dkms|make|gcc|cc1|as|ld|modpost' || true"


@pytest.fixture(scope="module")
def other_kernel() -> Iterator[str]:
    """A kernel that node1 starts next, and that came after the driver."""
    kernel = run_in("node1", OTHER_KERNEL).strip()
    run_in("node1", f"gaudi-simulator kernel add {kernel}")
    yield kernel
    run_in("node1", f"dkms remove -m habanalabs -v {PACKAGE} -k {kernel}; apt-get -y purge linux-headers-{kernel}")
    run_in("node1", f"gaudi-simulator kernel remove {kernel}")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All three nodes at the release."""
    played = play("driver", tmp_path_factory.mktemp("before"), gaudi_release=RELEASE, gaudi_driver_reload=True)
    assert played.rc == 0, played.screen
    return played


@pytest.fixture(scope="module")
def damaged(before: Played, other_kernel: str) -> str:
    """node1 has a new kernel, node2 a killed dpkg, node3 a version in its tree without a link to the source."""
    assert before.rc == 0
    run_in("node2", KILLED_DPKG)
    run_in("node3", f"rm {TREE}/{PACKAGE}/source")
    wait_for("the killed installation has ended", lambda: not run_in("node2", AT_WORK).strip())
    return other_kernel


@pytest.fixture(scope="module")
def foretold(damaged: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, set[tuple[str, str]]]:
    """Check mode, and what is not on a node as it was, or was not there."""
    assert damaged
    nodes = ("node1", "node2", "node3")
    state = {(node, line) for node in nodes for line in everything(node)}
    played = play("driver", tmp_path_factory.mktemp("foretold"), "--check --diff", gaudi_release=RELEASE)
    return played, state ^ {(node, line) for node in nodes for line in everything(node)}


@pytest.fixture(scope="module")
def repaired(foretold: tuple[Played, set[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The driver's layer again, on all three."""
    assert foretold
    return play("driver", tmp_path_factory.mktemp("repaired"), gaudi_release=RELEASE)


def test_check_mode_names_the_damage_and_leaves_it(foretold: tuple[Played, set[tuple[str, str]]], damaged: str) -> None:
    played, touched = foretold
    assert touched == set()
    assert f"build {damaged}" in played.of_driver("node1")["steps"]
    # Half way, or marked for it: what exactly a kill leaves depends on the moment.
    assert played.of_driver("node2")["changed"]
    assert any(step.startswith("mend ") for step in played.of_driver("node3")["steps"])


def test_the_driver_is_built_for_a_kernel_before_it_is_started(repaired: Played, damaged: str) -> None:
    assert repaired.rc == 0, repaired.screen
    kernels = {kernel for release, kernel in driver("node1").built if release == PACKAGE}
    assert damaged in kernels
    assert len(kernels) == 2
    assert driver("node1").is_whole_at(PACKAGE)


def test_a_killed_package_manager_is_finished(repaired: Played) -> None:
    assert repaired.rc == 0, repaired.screen
    assert driver("node2").is_whole_at(PACKAGE)
    assert not run_in("node2", "dpkg --audit").strip()


def test_a_damaged_tree_is_built_anew(repaired: Played) -> None:
    assert repaired.rc == 0, repaired.screen
    assert driver("node3").is_whole_at(PACKAGE)
    assert run_in("node3", f"readlink {TREE}/{PACKAGE}/source").strip() == f"/usr/src/habanalabs-{PACKAGE}"


def test_after_that_nothing_is_left_to_do(repaired: Played, tmp_path: Path) -> None:
    assert repaired.rc == 0, repaired.screen
    again = play("driver", tmp_path, gaudi_release=RELEASE)
    assert {node: number for node, number in again.changed.items() if number} == {}, again.screen
