# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments of RHEL: a stand-in for grubby that keeps entries, in the shape of grubby's documented output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel import boot_entries
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel_arguments import (
    plan_kernel_arguments,
    reboot_reasons,
    update_menu,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._host.node import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

INFO = """\
index={index}
kernel="/boot/vmlinuz-{kernel}"
args="{arguments}"
root="/dev/mapper/rhel-root"
initrd="/boot/initramfs-{kernel}.img $tuned_initrd"
title="Red Hat Enterprise Linux ({kernel}) 9.6 (Plow)"
id="8f0c0c1f-{kernel}"
"""
ARGUMENTS = ("iommu=pt", "intel_iommu=on")
BOOTED = 1_700_000_000


class Rhel:
    """Two kernels and the rescue image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries = {
            "5.14.0-570.12.1.el9_6.x86_64": ["ro", "rd.lvm.lv=rhel/root", "$tuned_params"],
            "5.14.0-503.11.1.el9_5.x86_64": ["ro", "rd.lvm.lv=rhel/root"],
            "0-rescue-4c1f": ["ro"],
        }
        self.calls: list[list[str]] = []
        self.fails = False
        (root / "boot/loader/entries").mkdir(parents=True)
        (root / "boot/loader/entries/one.conf").touch()
        (root / "proc").mkdir()
        (root / "proc/cmdline").write_text("BOOT_IMAGE=/vmlinuz ro\n")
        (root / "proc/stat").write_text(f"btime {BOOTED}\n")

    @property
    def node(self) -> Node:
        return Node(str(self.root), str(self.root / "etc"), str(self.root / "boot"), {"grubby"}.__contains__)

    @property
    def record(self) -> Path:
        return self.root / "etc/gaudi3_scale/kernel_arguments"

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.calls.append(list(argv))
        if argv[1] == "--info=ALL":
            pairs = enumerate(self.entries.items())
            texts = (INFO.format(index=i, kernel=kernel, arguments=" ".join(args)) for i, (kernel, args) in pairs)
            return CommandResult(0, "".join(texts), "")
        if self.fails:
            return CommandResult(1, "", "The param /boot/loader is incorrect\n")
        for word in argv[2:]:
            option, _equals, words = word.partition("=")
            for kernel, had in self.entries.items():
                kept = [one for one in had if one not in words.split()]
                self.entries[kernel] = kept + (words.split() if option == "--args" else [])
        return CommandResult(0, "", "")

    def update(self, arguments: Sequence[str] = ARGUMENTS, check_mode: bool = False) -> Any:
        assert plan_kernel_arguments(arguments, self.node).files == []
        return update_menu(arguments, self.node, self.run, [], check_mode)


@pytest.fixture
def rhel(tmp_path: Path) -> Rhel:
    return Rhel(tmp_path)


def test_arguments_get_into_every_entry_once(rhel: Rhel) -> None:
    shown = rhel.update(check_mode=True)
    assert rhel.calls == [["grubby", "--info=ALL"]]
    assert not rhel.record.exists()
    assert rhel.update() == shown
    assert shown["after"] == "with iommu=pt intel_iommu=on\n"
    assert rhel.calls[-1] == ["grubby", "--update-kernel=ALL", "--args=iommu=pt intel_iommu=on"]
    assert rhel.record.read_text() == "iommu=pt intel_iommu=on\n"
    assert rhel.update() is None


def test_a_kernel_that_was_installed_later_without_them_gets_them(rhel: Rhel) -> None:
    rhel.update()
    rhel.entries["5.14.0-999.el9.x86_64"] = ["ro", "iommu=pt"]
    assert rhel.update() is not None
    assert rhel.calls[-1][-1] == "--args=intel_iommu=on"


def test_only_what_was_added_here_is_taken_away(rhel: Rhel) -> None:
    for arguments in rhel.entries.values():
        arguments.append("iommu=pt")
    rhel.update()
    assert rhel.record.read_text() == "intel_iommu=on\n"
    assert rhel.update(arguments=())["after"] == "without intel_iommu=on\n"
    assert rhel.calls[-1] == ["grubby", "--update-kernel=ALL", "--remove-args=intel_iommu=on"]
    assert all("iommu=pt" in arguments for arguments in rhel.entries.values())
    assert not rhel.record.exists()
    rhel.calls.clear()
    assert rhel.update(arguments=()) is None
    assert rhel.calls == []


def test_a_failing_grubby_is_one_sentence(rhel: Rhel) -> None:
    rhel.fails = True
    with pytest.raises(GaudiError, match=r"^grubby --args=iommu=pt .* failed: The param /boot/loader is incorrect; "):
        rhel.update()
    rhel.fails = False
    assert rhel.update() is not None


def test_entries_that_grubby_cannot_read_are_one_sentence(rhel: Rhel) -> None:
    rhel.entries = {}
    with pytest.raises(GaudiError, match="grubby --info=ALL fails: it names no boot entry"):
        rhel.update()


def test_a_restart_is_asked_for_until_the_kernel_has_them(rhel: Rhel) -> None:
    rhel.update()
    reasons, warnings = reboot_reasons(ARGUMENTS, rhel.node, [], False)
    words = "iommu=pt intel_iommu=on"
    assert reasons == [
        f"the running kernel was started without {words}, which its boot entry has from the next start on"
    ]
    assert warnings == []
    os.utime(rhel.record, (BOOTED - 1000, BOOTED - 1000))
    reasons, warnings = reboot_reasons(ARGUMENTS, rhel.node, [], False)
    assert reasons == []
    assert "still lacks it; something else starts its kernel" in warnings[0]
    (rhel.root / "proc/cmdline").write_text("ro iommu=pt intel_iommu=on\n")
    assert reboot_reasons(ARGUMENTS, rhel.node, [], False) == ([], [])


def test_the_rescue_entry_is_not_looked_at() -> None:
    text = INFO.format(index=0, kernel="0-rescue-4c1f", arguments="ro")
    assert boot_entries.parse_entries(text) == {}
