# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After host settings: what the kernel holds, what GRUB would pass, what a login gets."""

from __future__ import annotations

from testinfra.host import Host

# What GRUB's own generator does with the operator's file and the drop-ins.
COMMAND_LINE = (
    "sh -c '. /etc/default/grub; for part in /etc/default/grub.d/*.cfg; do [ ! -e $part ] || . $part; done;"
    ' echo "$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"\''
)


def test_huge_pages_are_reserved_by_the_formula_or_not_at_all(host: Host, kernel: str) -> None:
    """The vendor's installer reserves 110 MiB twice for every logical CPU, and one page."""
    cpus = int(host.check_output("nproc"))
    megabyte_pages = int(host.check_output("sed -n 's/^Hugepagesize: *//p' /proc/meminfo").split()[0]) // 1024
    memory = int(host.check_output("sed -n 's/^MemTotal: *//p' /proc/meminfo").split()[0]) // 1024
    wanted = cpus * 2 * 110 // megabyte_pages + 1
    reserved = int(host.file(f"{kernel}/proc/sys/vm/nr_hugepages").content_string)
    assert reserved == (wanted if wanted * megabyte_pages <= memory / 2 else 0)


def test_the_reservation_lasts(host: Host, kernel: str) -> None:
    reserved = host.file(f"{kernel}/proc/sys/vm/nr_hugepages").content_string.strip()
    settings = host.check_output("cat /etc/sysctl.d/*.conf").replace(" ", "")
    assert (f"vm.nr_hugepages={reserved}" in settings) == (reserved != "0")


def test_grub_passes_the_iommu_argument_once(host: Host) -> None:
    words = host.check_output(COMMAND_LINE).split()
    assert words.count("iommu=pt") == 1


def test_the_operators_own_arguments_stay(host: Host) -> None:
    own = host.check_output("sh -c '. /etc/default/grub; echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT'").split()
    assert own
    assert set(own) <= set(host.check_output(COMMAND_LINE).split())


def test_a_login_may_still_come_in(host: Host) -> None:
    """A memlock limit that the kernel refuses to set locks everybody out; this test itself came in over SSH."""
    assert host.run("su - operator -c 'ulimit -l'").rc == 0
