# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The entry that GRUB is told, and RHEL's default through grubby: kept, chosen and given back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel import boot_choice, grub_menu
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.boot_kernels import next_kernel
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from .test_boot_kernels import NEW, OLD, UUID, absent, grub

FIRST, SECOND = "5.14.0-427.el9.x86_64", "5.14.0-570.el9.x86_64"


@pytest.mark.parametrize("kernel", [NEW, OLD])
def test_the_entry_has_the_kernels_name_and_is_what_grub_starts(tmp_path: Path, kernel: str) -> None:
    menu = Path(grub(tmp_path), "boot/grub/grub.cfg").read_text()
    name = grub_menu.entry_of(menu, kernel)
    assert name == f"gnulinux-advanced-{UUID}>gnulinux-{kernel}-advanced-{UUID}"
    assert next_kernel(absent, grub(tmp_path, name)) == kernel


def test_a_kernel_that_is_not_in_the_menu_has_no_entry(tmp_path: Path) -> None:
    menu = Path(grub(tmp_path), "boot/grub/grub.cfg").read_text()
    assert grub_menu.entry_of(menu, "6.1.0-5-amd64") is None


class Grubby:
    """RHEL's default kernel. ``stuck`` answers that it was changed and changes nothing."""

    def __init__(self, root: Path) -> None:
        self.default = FIRST
        self.stuck = False
        for name in (FIRST, SECOND):
            entry = root / f"boot/loader/entries/{name}.conf"
            entry.parent.mkdir(parents=True, exist_ok=True)
            entry.write_text(f"linux /vmlinuz-{name}\n")

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        assert argv[0] == "grubby"
        if argv[1] == "--set-default" and not self.stuck:
            self.default = argv[2].removeprefix("/boot/vmlinuz-")
        return CommandResult(0, f"/boot/vmlinuz-{self.default}\n" if argv[1] == "--default-kernel" else "", "")


def test_on_rhel_the_earlier_default_is_remembered_and_given_back(tmp_path: Path) -> None:
    grubby, root = Grubby(tmp_path), str(tmp_path)
    assert boot_choice.can_choose(grubby, root)
    assert boot_choice.undone(SECOND, grubby, root) == ["record", "default"]
    boot_choice.choose(SECOND, grubby, root)
    assert (grubby.default, boot_choice.undone(SECOND, grubby, root)) == (SECOND, [])
    record = boot_choice.read_record(root)
    assert record == boot_choice.Record(SECOND, FIRST)
    with pytest.raises(GaudiError, match=f"would boot {FIRST}, for which no driver is built"):
        boot_choice.give_back([SECOND], grubby, root)
    assert grubby.default == SECOND
    boot_choice.give_back([FIRST, SECOND], grubby, root)
    assert grubby.default == FIRST


def test_an_installation_does_not_change_what_boots(tmp_path: Path) -> None:
    grubby, root = Grubby(tmp_path), str(tmp_path)
    with pytest.raises(RuntimeError), boot_choice.default_kept(grubby, root):
        grubby.default = SECOND  # What the package's own script does.
        raise RuntimeError
    assert grubby.default == FIRST


def test_a_choice_that_does_not_take_is_an_error_and_leaves_no_record(tmp_path: Path) -> None:
    grubby, root = Grubby(tmp_path), str(tmp_path)
    grubby.stuck = True
    with pytest.raises(GaudiError, match=f"{SECOND} was chosen and {FIRST} would boot next"):
        boot_choice.choose(SECOND, grubby, root)
    assert boot_choice.read_record(root) is None
