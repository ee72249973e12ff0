# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.node_system import (
    Kernel,
    read_disk,
    read_disks,
    read_kernel,
    read_system,
)
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel


def test_the_kernel_is_read_from_its_own_files(tmp_path):
    write_kernel(tmp_path)
    command_line = "root=/dev/sda1 iommu=pt intel_iommu=on"
    assert read_kernel(str(tmp_path)) == Kernel("6.8.0-45-generic", command_line, True, 17601, 2048, 1031698)


@pytest.mark.parametrize(
    ("command_line", "passthrough"),
    [("quiet iommu=pt", True), ("quiet", False), ("iommu=ptx", False), ("xiommu=pt", False), ("intel_iommu=on", False)],
)
def test_pass_through_is_one_whole_word_of_the_command_line(tmp_path, command_line, passthrough):
    write_kernel(tmp_path, command_line=command_line)
    assert read_kernel(str(tmp_path)).iommu_passthrough is passthrough


def test_huge_pages_are_counted_by_meminfo_where_the_setting_is_missing(tmp_path):
    write_kernel(tmp_path)
    (tmp_path / "proc/sys/vm/nr_hugepages").unlink()
    assert read_kernel(str(tmp_path)).hugepages == 17601


def test_a_kernel_that_tells_nothing_is_unknown(tmp_path):
    assert read_kernel(str(tmp_path)) == Kernel(None, None, False, None, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "ubuntu-24.04"),
        ("NAME='x'\nID=\"rhel\"\nVERSION_ID='9.6'\n", "rhel-9.6"),
        ("ID=debian\nVERSION_ID=12", "debian-12"),
        ("ID=arch\n", "arch-unknown"),
    ],
)
def test_the_distribution_is_that_of_os_release(tmp_path, text, name):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(text, encoding="utf-8")
    assert read_system(str(tmp_path)).os == name


def test_systemd_is_there_when_it_has_booted_the_machine(tmp_path):
    assert read_system(str(tmp_path)).systemd is False
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert read_system(str(tmp_path)).systemd is True


def test_a_path_that_does_not_exist_lies_on_its_nearest_parent(tmp_path):
    disk = read_disk(str(tmp_path / "a" / "b"), 5)
    assert disk.mount == str(tmp_path)
    assert disk.device == tmp_path.stat().st_dev
    assert disk.free_mib > 0


def test_a_file_in_the_way_is_no_directory_to_measure(tmp_path):
    (tmp_path / "a").write_text("", encoding="utf-8")
    assert read_disk(str(tmp_path / "a" / "b"), 5).mount == str(tmp_path)


def test_what_is_installed_already_needs_no_space(tmp_path):
    wanted = [
        {"path": str(tmp_path / "venv"), "need_mib": 10, "unless_exists": str(tmp_path)},
        {"path": str(tmp_path / "logs"), "need_mib": 20, "unless_exists": None},
        {"path": str(tmp_path / "jobs"), "need_mib": 30, "unless_exists": str(tmp_path / "no")},
    ]
    assert [disk.need_mib for disk in read_disks(wanted)] == [20, 30]
