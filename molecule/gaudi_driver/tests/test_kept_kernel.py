# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel that is asked for: built for, installed, chosen, held, given back; one that does not build never boots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, hosts, run, sandbox

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("kept")

NODE = "node1"
# The node's own kernel is a 6.1.
KERNEL = "6.2.0-901-amd64"
PACKAGES = f"linux-image-{KERNEL} linux-headers-{KERNEL}"
DROP_IN = "/etc/default/grub.d/99-gaudi3-scale-kernel.cfg"
NEEDRESTART = "/etc/needrestart"
# A kernel in a repository of its own: its image does to /boot and to the menu what a real one does, and its headers are
# those of the node's kernel.
REPOSITORY = f"""
set -e
mkdir -p /srv/kernels {NEEDRESTART}
cd /srv/kernels
fields='Package: %s\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@x>\\nDescription: simulated\\n'
package() {{
    printf "$fields" "$1" > root/DEBIAN/control
    dpkg-deb --build root "$1.deb" > /dev/null
    rm -r root
    {{
        printf "$fields" "$1"
        printf 'Filename: ./%s.deb\\nSize: %s\\n' "$1" "$(stat -c %s "$1.deb")"
        printf 'SHA256: %s\\n\\n' "$(sha256sum "$1.deb" | cut -d ' ' -f 1)"
    }} >> Packages
}}
rm -f Packages
mkdir -p root/DEBIAN
printf '#!/bin/sh\\nexec /usr/local/sbin/gaudi-simulator kernel add {KERNEL}\\n' > root/DEBIAN/postinst
chmod 0755 root/DEBIAN/postinst
package linux-image-{KERNEL}
mkdir -p root/DEBIAN root/lib/modules/{KERNEL}
ln -s "$(readlink -f "/lib/modules/$(cat /etc/gaudi_simulator_kernel)/build")" root/lib/modules/{KERNEL}/build
package linux-headers-{KERNEL}
echo 'deb [trusted=yes] file:/srv/kernels ./' > /etc/apt/sources.list.d/kernels.list
apt-get -q update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/kernels.list -o Dir::Etc::sourceparts=- \\
    -o APT::Get::List-Cleanup=0
"""
CLEAN = f"""
dkms remove -m habanalabs -v 1.24.1-482 -k {KERNEL}
/usr/local/sbin/gaudi-simulator kernel remove {KERNEL}
apt-get -y -q purge {PACKAGES}
rm -rf /srv/kernels /etc/apt/sources.list.d/kernels.list /lib/modules/{KERNEL} {NEEDRESTART}
"""


def driver(directory: Path, kernel: str, arguments: str = "", status: str = "successful") -> dict[str, Any]:
    """The driver's layer with this kernel; what its module answered."""
    system = hosts()[NODE].check_output('. /etc/os-release && echo "$ID-$VERSION_ID"').strip()
    # As if the node's own kernel were not one for this release.
    overrides = {"1.24.1": {"operating_systems": {system: ["6.2"]}}}
    done = run(
        directory,
        "driver",
        arguments=f"--limit {NODE} {arguments}",
        gaudi_driver_kernel=kernel,
        gaudi_release_overrides=overrides,
    )
    said = done.stdout.read()
    assert done.status == status, said[-4000:]
    answers = [
        event["event_data"]["res"]
        for event in done.events
        if event["event"] in ("runner_on_ok", "runner_on_failed")
        and event["event_data"].get("task_action") == "gaudi3.scale.hpu_driver"
    ]
    return dict(answers[-1])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """node1 with two kernels in a repository."""
    host = hosts()[NODE]
    host.check_output(REPOSITORY)
    before = host.run(f"apt-mark showhold; cat {DROP_IN}").stdout
    yield host
    driver(tmp_path_factory.mktemp("back"), "distribution")
    assert host.run(f"apt-mark showhold; cat {DROP_IN}").stdout == before
    host.run(CLEAN)
    sandbox("reboot", NODE)
    driver(tmp_path_factory.mktemp("after"), "")


def loaded(node: Host, kernel: str) -> int:
    return int(node.run(f"grep -c ^habanalabs {kernel}/proc/modules").stdout)


def test_one_that_does_not_build_is_neither_installed_nor_chosen(node: Host, kernel: str, tmp_path: Path) -> None:
    with fault(NODE, "dkms_build_error"):
        said = driver(tmp_path, "supported", status="failed")
    assert f"for kernel {KERNEL} (" in said["msg"]
    assert "error: " in said["msg"].partition("\n")[0]
    assert not node.file(f"/boot/vmlinuz-{KERNEL}").exists
    assert not node.file(DROP_IN).exists
    assert loaded(node, kernel) == 5


def test_the_one_that_fits_is_built_for_installed_chosen_and_held(node: Host, kernel: str, tmp_path: Path) -> None:
    promised = driver(tmp_path, "supported", "--check --diff")
    assert not node.file(f"/boot/vmlinuz-{KERNEL}").exists
    done = driver(tmp_path, "supported")
    # The first of them repairs what the failed build left.
    assert promised["steps"][-3:] == done["steps"][-3:]
    assert done["steps"].index(f"build {KERNEL}") < done["steps"].index(f"image linux-image-{KERNEL}")
    assert f"choose {KERNEL}" in done["steps"]
    assert f"gnulinux-{KERNEL}-advanced" in node.file(DROP_IN).content_string
    assert (
        f'set default="gnulinux-advanced-simulated>gnulinux-{KERNEL}' in node.file("/boot/grub/grub.cfg").content_string
    )
    held = node.check_output("apt-mark showhold").splitlines()
    assert {f"linux-image-{KERNEL}", f"linux-headers-{KERNEL}"} <= set(held)
    assert "6\\.2\\.0-901-amd64" in node.file(f"{NEEDRESTART}/conf.d/gaudi3_scale-kernel.conf").content_string
    assert done["restart_required"]
    assert f"Restart needed: kernel {KERNEL}" in " ".join(done["warnings"])
    # What runs goes on.
    assert loaded(node, kernel) == 5


@pytest.mark.usefixtures("node")
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert not driver(tmp_path, "supported")["changed"]


@pytest.mark.long
def test_the_next_boot_starts_it_with_its_driver(node: Host, kernel: str, tmp_path: Path) -> None:
    sandbox("reboot", NODE)
    assert node.file(f"{kernel}/proc/sys/kernel/osrelease").content_string.strip() == KERNEL
    assert loaded(node, kernel) == 5
    after = driver(tmp_path, "supported")
    assert (after["changed"], after["restart_required"]) == (False, False)
