# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files of somebody else: at a path of ours, and in GRUB's directory after ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.tests.unit.host_machine import ARGUMENTS, Machine

SYSCTL = "etc/sysctl.d/90-gaudi3-scale.conf"
GRUB = "etc/default/grub.d/99-gaudi3-scale.cfg"
LIMITS = "etc/security/limits.d/90-gaudi3-scale.conf"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def copies(machine: Machine, path: str) -> list[str]:
    target = machine.root / path
    return [copy.read_text(encoding="utf-8") for copy in target.parent.glob(f"{target.name}.*.bak")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (SYSCTL, "vm.swappiness = 1\nnet.core.rmem_max = 268435456\n"),
        (SYSCTL, "vm.nr_hugepages = 8\n"),
        (LIMITS, "* hard nofile 1048576\n"),
        ("etc/systemd/system.conf.d/90-gaudi3-scale.conf", "[Manager]\nDefaultLimitNOFILE=1048576\n"),
        (GRUB, 'GRUB_CMDLINE_LINUX="mitigations=off"\n'),
    ],
)
def test_a_file_of_somebody_else_at_our_path_is_kept_aside_and_named(machine: Machine, path: str, text: str) -> None:
    machine.write(path, text)
    shown = machine.converge(check_mode=True)
    assert machine.read(path) == text
    done = machine.converge()
    for result in (shown, done):
        assert [one for one in result["warnings"] if f"{machine.root / path} was not written by gaudi3.scale" in one]
    assert copies(machine, path) == [text]
    assert machine.read(path).startswith("# Written by gaudi3.scale")
    again = machine.converge()
    assert not again["changed"]
    assert not [one for one in again["warnings"] if "was not written by" in one]
    assert copies(machine, path) == [text]


@pytest.mark.parametrize(
    ("path", "options"),
    [(SYSCTL, {"hugepages": "unmanaged"}), (LIMITS, {"memlock": False}), (GRUB, {"kernel_arguments": ()})],
)
def test_what_is_not_managed_takes_no_file_of_somebody_else_away(
    machine: Machine, path: str, options: dict[str, object]
) -> None:
    machine.write(path, "# ours, says the site\n")
    machine.converge(**options)
    assert machine.read(path) == "# ours, says the site\n"
    assert copies(machine, path) == []


def test_more_huge_pages_of_somebody_else_at_our_own_path_are_left(machine: Machine) -> None:
    machine.write(SYSCTL, "vm.nr_hugepages=156300\n")
    for _again in range(2):
        result = machine.converge()
        assert machine.read(SYSCTL) == "vm.nr_hugepages=156300\n"
        assert any("gives 156300 pages" in one for one in result["warnings"])
    assert not result["changed"]


LATER = "etc/default/grub.d/zz-site.cfg"


def test_a_later_file_that_sets_the_arguments_anew_is_named(machine: Machine) -> None:
    machine.write(LATER, 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0"\n')
    for check_mode in (True, False, False):
        result = machine.converge(check_mode)
        (said,) = [one for one in result["warnings"] if "kernel_arguments:" in one]
        assert f"{machine.root / LATER} is read after {machine.root / GRUB}" in said
        assert f"so that {ARGUMENTS} is lost" in said
        assert "have it begin with ${GRUB_CMDLINE_LINUX_DEFAULT}" in said
        # A restart would not bring them.
        assert not result["reboot_required"]


def test_it_is_named_though_the_running_kernel_still_has_them(machine: Machine) -> None:
    machine.write("kernel/proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro {ARGUMENTS}\n")
    machine.converge()
    machine.write(LATER, 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0 iommu=pt"\n')
    (said,) = machine.converge()["warnings"]
    assert "so that intel_iommu=on is lost" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zz-site.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT console=ttyS0"\n'),
        ("zz-site.cfg.dpkg-old", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n'),
        ("50-cloudimg-settings.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty1 console=ttyS0"\n'),
    ],
)
def test_files_that_take_nothing_away(machine: Machine, name: str, text: str) -> None:
    machine.write(f"etc/default/grub.d/{name}", text)
    assert machine.converge()["warnings"] == []
