# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``auto`` is "at least": what already gives more pages is left, said, and not shrunk at the next boot."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

OURS = "etc/sysctl.d/90-gaudi3-scale.conf"
# What the bootstrap of Gaudi 2 workers writes, and what auto is on the machine of the tests.
SITE, AUTO = 156300, 441
GIB = 1024 * 1024


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def is_left(machine: Machine, source: str, pages: int, page_kib: int = 2048, **options: str) -> None:
    """Our file is not there, the sentence names who gives more, and a second run is the same."""
    for check_mode in (True, False, False):
        result = machine.converge(check_mode, **options)
        assert not (machine.root / OURS).exists()
        said = [warning for warning in result["warnings"] if "hugepages:" in warning]
        assert len(said) == 1
        assert f"{source} gives {pages} pages of {page_kib} KiB, and auto asks for at least " in said[0]
        assert result["settings"]["hugepages"]["given_by"].endswith(source)
    assert not result["changed"]
    assert result["diff"] == []


@pytest.mark.parametrize(
    "path",
    [
        "etc/sysctl.conf",
        "etc/sysctl.d/99-site.conf",
        "etc/sysctl.d/10-site.conf",
        "run/sysctl.d/10-x.conf",
        "usr/lib/sysctl.d/99-vendor.conf",
    ],
)
def test_more_pages_of_another_file_are_left(machine: Machine, path: str) -> None:
    machine.write(path, f"vm.nr_hugepages={SITE}\n")
    machine.write("kernel/proc/sys/vm/nr_hugepages", f"{SITE}\n")
    is_left(machine, path, SITE)
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == f"{SITE}\n"
    assert machine.read(path) == f"vm.nr_hugepages={SITE}\n"


def test_our_own_file_of_an_earlier_run_goes(machine: Machine) -> None:
    machine.converge()
    assert (machine.root / OURS).exists()
    machine.write("etc/sysctl.conf", f"vm.nr_hugepages={SITE}\n")
    assert machine.converge()["changed"]
    is_left(machine, "etc/sysctl.conf", SITE)


def test_until_the_other_file_is_in_force_at_least_ours_are_reserved(machine: Machine) -> None:
    machine.write("etc/sysctl.conf", f"vm.nr_hugepages={SITE}\n")
    machine.converge()
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == f"{AUTO}\n"


def test_the_file_that_is_read_last_counts(machine: Machine) -> None:
    machine.write("etc/sysctl.d/10-small.conf", "vm.nr_hugepages=5\n")
    machine.write("etc/sysctl.d/99-large.conf", f"vm.nr_hugepages={SITE}\n")
    is_left(machine, "etc/sysctl.d/99-large.conf", SITE)
    machine.write("etc/sysctl.conf", "vm.nr_hugepages=6\n")
    with pytest.raises(GaudiError, match=r"two owners, .* with 441 and .*10-small.conf with 5"):
        machine.converge()


def test_a_number_of_the_operator_is_exact_and_has_one_owner(machine: Machine) -> None:
    machine.write("etc/sysctl.conf", f"vm.nr_hugepages={SITE}\n")
    with pytest.raises(GaudiError, match=rf"with 600 and .*sysctl.conf with {SITE}"):
        machine.converge(hugepages="600")


@pytest.mark.parametrize("value", ["441k", "lots", "-1"])
def test_what_is_no_number_is_not_called_more(machine: Machine, value: str) -> None:
    machine.write("etc/sysctl.conf", f"vm.nr_hugepages={value}\n")
    with pytest.raises(GaudiError, match="two owners"):
        machine.converge()


@pytest.mark.parametrize(
    "words",
    [f"hugepages={SITE}", f"hugepagesz=1G hugepages=2 hugepagesz=2M hugepages={SITE}", "hugepages=0:150000,1:6300"],
)
def test_more_pages_of_the_running_kernels_command_line_are_left(machine: Machine, words: str) -> None:
    machine.write("kernel/proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro {words}\n")
    machine.write("kernel/proc/sys/vm/nr_hugepages", f"{SITE}\n")
    is_left(machine, "the kernel's command line", SITE)


def test_pages_of_1_gib_are_counted_as_such(machine: Machine) -> None:
    machine.write("kernel/proc/cmdline", "ro default_hugepagesz=1G hugepages=40\n")
    machine.write("kernel/proc/meminfo", f"MemTotal: 67108864 kB\nHugepagesize: {GIB} kB\n")
    machine.write("kernel/proc/sys/vm/nr_hugepages", "40\n")
    is_left(machine, "the kernel's command line", 40, GIB)


def test_what_the_boot_loader_has_for_the_next_boot_is_left(machine: Machine) -> None:
    machine.write("boot/grub/grub.cfg", f"\tlinux\t/vmlinuz ro hugepages={SITE}\n")
    machine.programs.clear()
    is_left(machine, "boot/grub/grub.cfg", SITE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/default/grub", f'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="hugepages={SITE}"\n'),
        ("etc/default/grub.d/50-site.cfg", f"GRUB_CMDLINE_LINUX_DEFAULT='quiet hugepages={SITE}'\n"),
        ("boot/loader/entries/abc-5.14.conf", f"title x\noptions root=/dev/sda1 hugepages={SITE} $tuned_params\n"),
        ("etc/kernel/cmdline", f"root=/dev/sda1 hugepages={SITE}\n"),
    ],
)
def test_what_the_boot_loaders_own_settings_have_is_left(machine: Machine, path: str, text: str) -> None:
    machine.write(path, text)
    is_left(machine, path, SITE)


def test_what_we_put_on_the_command_line_ourselves_counts_too(machine: Machine) -> None:
    machine.converge(kernel_arguments=(f"hugepages={SITE}",))
    assert not (machine.root / OURS).exists()
    assert not machine.converge(kernel_arguments=(f"hugepages={SITE}",))["changed"]


def test_fewer_pages_of_the_command_line_are_raised(machine: Machine) -> None:
    machine.write("kernel/proc/cmdline", "ro hugepages=100\n")
    machine.write("kernel/proc/sys/vm/nr_hugepages", "100\n")
    assert machine.converge()["warnings"] == []
    assert f"vm.nr_hugepages = {AUTO}\n" in machine.read(OURS)
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == f"{AUTO}\n"


def test_no_number_of_small_pages_meets_a_boot_with_large_ones(machine: Machine) -> None:
    """441 pages of 1 GiB would take all memory."""
    machine.write("etc/default/grub", 'GRUB_CMDLINE_LINUX="default_hugepagesz=1G"\n')
    result = machine.converge()
    assert not (machine.root / OURS).exists()
    assert f"from the next boot on a page is of {GIB} KiB" in result["warnings"][0]
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == f"{AUTO}\n"
    assert not machine.converge()["changed"]


def test_what_somebody_else_reserved_is_not_refused_for_its_size(machine: Machine) -> None:
    machine.write("kernel/proc/meminfo", "MemTotal: 1048576 kB\nHugepagesize: 2048 kB\n")
    with pytest.raises(GaudiError, match="441 pages of 2048 KiB take 882 MiB"):
        machine.converge()
    machine.write("etc/sysctl.conf", "vm.nr_hugepages=480\n")
    machine.write("kernel/proc/sys/vm/nr_hugepages", "480\n")
    pages = machine.converge()["settings"]["hugepages"]
    assert (pages["memory_mib"], pages["left_mib"]) == (960, 64)


def test_memory_beside_a_larger_reservation_is_told_as_it_is(machine: Machine) -> None:
    machine.write("kernel/proc/sys/vm/nr_hugepages", "5000\n")
    pages = machine.converge()["settings"]["hugepages"]
    assert (pages["memory_mib"], pages["left_mib"]) == (10000, 65536 - 10000)


def test_limits_of_others_are_not_touched_and_ours_are_the_most_there_is(machine: Machine) -> None:
    site = "* soft nofile 1048576\n* hard nofile 1048576\n* hard memlock unlimited\n"
    machine.write("etc/security/limits.d/95-site.conf", site)
    machine.write("etc/systemd/system.conf.d/95-site.conf", "[Manager]\nDefaultLimitNOFILE=1048576\n")
    machine.converge()
    assert machine.read("etc/security/limits.d/95-site.conf") == site
    login = machine.read("etc/security/limits.d/90-gaudi3-scale.conf")
    service = machine.read("etc/systemd/system.conf.d/90-gaudi3-scale.conf")
    assert "nofile" not in login.lower() + service.lower()
    values = {line.split()[-1] for line in login.splitlines() if not line.startswith("#")}
    assert values == {"unlimited"}
