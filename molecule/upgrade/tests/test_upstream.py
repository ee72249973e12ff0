# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The driver's life with a real driver: the kernel's own one of Debian's sources, in packages of the vendor's names.

Release 1.23.0 has that of Linux 6.1, which is the node's kernel, and 1.24.1 that of 6.12: neither compiles for the
other kernel, so what is said of a failed build are a compiler's own words. Only loading is simulated. The tests follow
one another on one node, which is virgin before and afterwards; apt fetches 300 MB of sources where no run before has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.simulator.releases import RELEASES
from tests import upstream_names
from tests.sandbox_nodes import sandbox

from .nodes import KERNEL, driver, everything, run_in
from .runs import Played, play, upgrade

NODE = "node1"
URL = "http://packages.sandbox.internal/upstream_driver"
OLD, OLD_PACKAGE = "1.23.0", "1.23.0-695"
NEW, NEW_PACKAGE = "1.24.1", "1.24.1-482"
TREE = "/var/lib/dkms/habanalabs"
KEY, CERTIFICATE, SIGNER = "/root/driver.key", "/root/driver.der", "A site of the tests"
SIGNED = {"gaudi_driver_signing_key": KEY, "gaudi_driver_signing_certificate": CERTIFICATE}
MAKE_KEY = f"""
openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN={SIGNER}' \
  -keyout {KEY} -outform DER -out {CERTIFICATE} 2> /dev/null
chmod 0600 {KEY}
"""
# Debian's newest kernel of the series that the new release's driver is of.
NEW_KERNEL = """
apt-get -q update > /dev/null
apt-cache depends --important linux-headers-6.12-amd64 | sed -n 's/.*Depends: linux-headers-//p'
"""
# As far as modules go: the kernel is no package here.
REMOVE_KERNEL = """
dkms remove -m habanalabs -v {version} -k {kernel} > /dev/null
apt-get -q -y purge linux-headers-{kernel} > /dev/null
gaudi-simulator kernel remove {kernel}
rm -rf /lib/modules/{kernel}
"""


@pytest.fixture(scope="module", autouse=True)
def virgin() -> Iterator[None]:
    """The packages in the repository, and a node that has none of those that the other tests install."""
    sandbox("repository", "--upstream-driver")
    sandbox("reset", NODE)
    yield
    sandbox("reset", NODE)


def played(release: str, directory: Path, **variables: object) -> Played:
    """The driver's layer on the node, with the packages that have the real driver."""
    given = {"gaudi_packages_url": URL, "gaudi_release": release, "gaudi_driver_reload": True, **variables}
    return play("driver", directory, f"--limit {NODE}", **given)


def running_kernel() -> str:
    return run_in(NODE, f"cat {KERNEL}/proc/sys/kernel/osrelease").strip()


def of_module(kernel: str, name: str = "habanalabs") -> dict[str, list[str]]:
    """What the real modinfo reads in the module's file."""
    found: dict[str, list[str]] = {}
    for line in run_in(NODE, f"modinfo -k {kernel} {name}").splitlines():
        field, _, value = line.partition(":")
        found.setdefault(field, []).append(value.strip())
    return found


def first_error(log: str) -> str:
    """The compiler's first error in a build's log on the node."""
    return run_in(NODE, f"grep -m 1 -E ': (fatal )?error: ' {log}").strip()


def assert_told_by_the_compiler(said: dict[str, object], package: str, kernel: str) -> None:
    message, log = str(said["msg"]), str(said["build_log"])
    assert f"DKMS cannot build habanalabs {package} for kernel {kernel} (" in message
    error = first_error(log)
    assert error
    assert error in message.partition("\n")[0]
    assert message.partition("\n")[0].endswith(f"its log is {log}.")


@pytest.mark.in_turn("upstream")
def test_a_driver_that_does_not_compile_is_told_in_the_compiler_s_words(tmp_path: Path) -> None:
    kernel = running_kernel()
    done = played(NEW, tmp_path)
    assert done.rc != 0, done.screen
    assert_told_by_the_compiler(done.of_driver(NODE), NEW_PACKAGE, kernel)
    assert driver(NODE).modules == set()


@pytest.mark.in_turn("upstream")
def test_the_names_that_the_simulation_is_held_against_are_those_of_the_source() -> None:
    found, known = upstream_names.extract(), upstream_names.known()
    assert upstream_names.names_of(found) == upstream_names.names_of(known)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The release whose driver is of the node's kernel, signed, on the node on which the other one failed."""
    run_in(NODE, MAKE_KEY)
    return played(OLD, tmp_path_factory.mktemp("old"), **SIGNED)


@pytest.mark.long
def test_the_release_that_compiles_is_the_way_out(old: Played) -> None:
    assert old.rc == 0, old.screen
    assert driver(NODE).is_whole_at(OLD_PACKAGE)
    assert not run_in(NODE, "dpkg --audit").strip()


@pytest.mark.long
def test_the_module_tells_its_release_its_kernel_its_cards_and_who_signed_it(old: Played) -> None:
    assert old.rc == 0, old.screen
    kernel = running_kernel()
    told = of_module(kernel)
    # The kernel's own driver, and no module of ours.
    assert told["description"] == ["Driver for HabanaLabs's AI Accelerators"]
    assert told["version"] == [RELEASES[OLD_PACKAGE].driver]
    assert told["vermagic"][0].split()[0] == kernel
    ids = {match[1].lower() for alias in told["alias"] if (match := re.match(r"pci:v00001DA3d0000(\w{4})sv", alias))}
    assert ids == {identifier.removeprefix("0x") for identifier in upstream_names.known()["6.1"]["names"]["device_ids"]}
    assert told["signer"] == [SIGNER]
    assert of_module(kernel, "habanalabs_cn")["signer"] == [SIGNER]


@pytest.mark.long
def test_a_second_run_changes_nothing(old: Played, tmp_path: Path) -> None:
    assert old.rc == 0, old.screen
    before = everything(NODE)
    again = played(OLD, tmp_path, **SIGNED)
    assert again.rc == 0, again.screen
    assert {node: number for node, number in again.changed.items() if number} == {}, again.screen
    assert everything(NODE) == before


@pytest.fixture(scope="module")
def new_kernel(old: Played) -> str:
    """A kernel that the node starts next, and that came after the driver."""
    assert old.rc == 0, old.screen
    kernel = run_in(NODE, NEW_KERNEL).strip()
    run_in(NODE, f"gaudi-simulator kernel add {kernel}")
    return kernel


@pytest.mark.long
def test_a_kernel_for_which_the_driver_does_not_compile_is_told_before_it_is_started(
    new_kernel: str, tmp_path: Path
) -> None:
    done = played(OLD, tmp_path, **SIGNED)
    assert done.rc != 0, done.screen
    assert_told_by_the_compiler(done.of_driver(NODE), OLD_PACKAGE, new_kernel)
    # What runs goes on.
    found = driver(NODE)
    assert (len(found.modules), found.cards, found.version) == (5, 8, RELEASES[OLD_PACKAGE].driver)
    assert {kernel for _release, kernel in found.built} == {running_kernel()}


@pytest.fixture(scope="module")
def moved(new_kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Started with the new kernel all the same, the old one removed, and brought to the release that supports it."""
    before = running_kernel()
    sandbox("reboot", NODE)
    assert running_kernel() == new_kernel
    assert driver(NODE).modules == set()
    run_in(NODE, REMOVE_KERNEL.format(version=OLD_PACKAGE, kernel=before))
    return played(NEW, tmp_path_factory.mktemp("moved"), **SIGNED)


@pytest.mark.long
def test_the_release_that_supports_the_new_kernel_is_built_for_it(moved: Played, new_kernel: str) -> None:
    assert moved.rc == 0, moved.screen
    assert moved.of_driver(NODE)["state"] == "upgraded"
    # What the old release's failed build had left half way.
    assert not run_in(NODE, "dpkg --audit").strip()
    found = driver(NODE)
    assert found.is_whole_at(NEW_PACKAGE)
    assert found.built == {(NEW_PACKAGE, new_kernel)}
    told = of_module(new_kernel)
    assert told["version"] == [RELEASES[NEW_PACKAGE].driver]
    assert told["vermagic"][0].split()[0] == new_kernel
    assert told["signer"] == [SIGNER]


@pytest.mark.long
def test_a_change_to_a_release_that_does_not_compile_goes_back(moved: Played, new_kernel: str, tmp_path: Path) -> None:
    assert moved.rc == 0, moved.screen
    done = upgrade(OLD, tmp_path, f"--limit {NODE}", gaudi_packages_url=URL)
    assert done.rc != 0, done.screen
    assert done.states[NODE] == "rolled_back"
    said = done.of_driver(NODE)
    assert f"the node is back on {NEW}, verified." in said["msg"]
    assert first_error(said["build_log"]) in said["msg"]
    assert driver(NODE).is_whole_at(NEW_PACKAGE)
    assert driver(NODE).built == {(NEW_PACKAGE, new_kernel)}


@pytest.mark.long
def test_a_damaged_tree_is_built_anew(moved: Played, new_kernel: str, tmp_path: Path) -> None:
    assert moved.rc == 0, moved.screen
    run_in(NODE, f"rm {TREE}/{NEW_PACKAGE}/source")
    done = played(NEW, tmp_path, **SIGNED)
    assert done.rc == 0, done.screen
    assert any(step.startswith("mend ") for step in done.of_driver(NODE)["steps"])
    assert driver(NODE).is_whole_at(NEW_PACKAGE)
    assert of_module(new_kernel)["signer"] == [SIGNER]
