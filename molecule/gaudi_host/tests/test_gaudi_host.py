# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After host settings: what the kernel holds, what it was and will be started with, what a login gets."""

from __future__ import annotations

import pytest
from testinfra.host import Host

IN_FORCE = "cat {kernel}/proc/cmdline"
AT_THE_NEXT_BOOT = "sed -n 's/^[[:space:]]*linux[[:space:]]//p' /boot/grub/grub.cfg"


def test_huge_pages_are_reserved_by_the_installers_formula(host: Host, kernel: str) -> None:
    """The vendor's installer reserves 110 MiB twice for every logical CPU, and one page."""
    cpus = int(host.check_output("nproc"))
    megabyte_pages = int(host.check_output("sed -n 's/^Hugepagesize: *//p' /proc/meminfo").split()[0]) // 1024
    wanted = cpus * 2 * 110 // megabyte_pages + 1
    reserved = int(host.file(f"{kernel}/proc/sys/vm/nr_hugepages").content_string)
    assert reserved == wanted


def test_the_reservation_lasts(host: Host, kernel: str) -> None:
    reserved = host.file(f"{kernel}/proc/sys/vm/nr_hugepages").content_string.strip()
    settings = host.check_output("cat /etc/sysctl.d/*.conf").replace(" ", "")
    assert f"vm.nr_hugepages={reserved}" in settings


@pytest.mark.parametrize("command_line", [IN_FORCE, AT_THE_NEXT_BOOT], ids=["in force", "at the next boot"])
def test_the_kernel_gets_the_iommu_argument_once(host: Host, kernel: str, command_line: str) -> None:
    # The menu has an entry for the default and one for each kernel.
    lines = host.check_output(command_line.format(kernel=kernel)).splitlines()
    assert lines
    assert [line.split().count("iommu=pt") for line in lines] == [1] * len(lines)


def test_the_operators_own_arguments_stay(host: Host) -> None:
    assert host.file("/etc/default/grub").contains("quiet")
    assert "quiet" in host.check_output(AT_THE_NEXT_BOOT).split()


def test_a_login_may_still_come_in(host: Host) -> None:
    """A memlock limit that the kernel refuses to set locks everybody out; this test itself came in over SSH."""
    assert host.run("su - operator -c 'ulimit -l'").rc == 0
