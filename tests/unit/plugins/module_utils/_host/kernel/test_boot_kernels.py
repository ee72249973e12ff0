# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel that boots next, read from files in the shape that grub-mkconfig 2.06 and RHEL's grubby leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.boot_kernels import (
    boot_kernels,
    newest,
    next_kernel,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

NEW, OLD = "6.1.0-56-amd64", "6.1.0-55-amd64"
UUID = "5a4d0b0e-1111-4000-8000-000000000001"
HEADER = """\
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="@DEFAULT@"
fi
function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
  fi
}
menuentry 'GNU/Linux' --class gnu-linux --class os $menuentry_id_option 'gnulinux-simple-@UUID@' {
	load_video
	if [ x$grub_platform = xxen ]; then insmod xzio; fi
	linux	/boot/vmlinuz-6.1.0-56-amd64 root=/dev/sda1 ro  quiet
	initrd	/boot/initrd.img-6.1.0-56-amd64
}
submenu 'Advanced options for GNU/Linux' $menuentry_id_option 'gnulinux-advanced-@UUID@' {
"""
ENTRY = """\
	menuentry 'GNU/Linux, with Linux @KERNEL@@MODE@' --class os $menuentry_id_option 'gnulinux-@KERNEL@-@ID@-@UUID@' {
		linux	/boot/vmlinuz-@KERNEL@ root=/dev/sda1 ro
	}
"""
FOOTER = """\
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
"""


def absent(argv: Sequence[str], **_more: Any) -> CommandResult:
    return CommandResult(127, "", f"{argv[0]}: not installed")


def grub(root: Path, default: str = "0", environment: str = "") -> str:
    inner = "".join(
        ENTRY.replace("@KERNEL@", kernel).replace("@MODE@", mode).replace("@ID@", name)
        for kernel in (NEW, OLD)
        for mode, name in (("", "advanced"), (" (recovery mode)", "recovery"))
    )
    write(root / "boot/grub/grub.cfg", (HEADER.replace("@DEFAULT@", default) + inner + FOOTER).replace("@UUID@", UUID))
    write(root / "boot/grub/grubenv", f"# GRUB Environment Block\n{environment}\n#########")
    return str(root)


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("default", "environment", "kernel"),
    [
        ("0", "", NEW),
        ("1>2", "", OLD),
        ("1", "", NEW),
        ("Advanced options for GNU/Linux>GNU/Linux, with Linux 6.1.0-55-amd64", "", OLD),
        (f"gnulinux-advanced-{UUID}>gnulinux-6.1.0-55-amd64-advanced-{UUID}", "", OLD),
        ("${saved_entry}", "saved_entry=1>2", OLD),
        ("${saved_entry}", "", NEW),
        ("0", "next_entry=1>2", OLD),
        ("0", "next_entry=", NEW),
        ("an entry that is gone", "", NEW),
        ("9", "", NEW),
        ("2", "", None),
    ],
)
def test_grubs_choice(tmp_path: Path, default: str, environment: str, kernel: str | None) -> None:
    assert next_kernel(absent, grub(tmp_path, default, environment)) == kernel


def test_a_kernel_that_is_unpacked_and_not_in_the_menu_is_not_next(tmp_path: Path) -> None:
    root = grub(tmp_path)
    write(tmp_path / "boot/vmlinuz-6.1.0-99-amd64")
    assert next_kernel(absent, root) == NEW


def test_without_a_menu_the_newest_image_is_next_and_without_images_nothing_is_known(tmp_path: Path) -> None:
    assert next_kernel(absent, str(tmp_path)) is None
    for name in ("6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-56-amd64.old", "0-rescue-0123"):
        write(tmp_path / f"boot/vmlinuz-{name}")
    assert next_kernel(absent, str(tmp_path)) == "6.1.0-56-amd64"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("6.8.0-9-generic", "6.8.0-45-generic"),
        ("6.1.0-56-amd64", "6.12.117+deb12-amd64"),
        ("5.14.0-427.el9.x86_64", "5.14.0-570.12.1.el9_6.x86_64"),
        ("6.9~rc1-amd64", "6.9-amd64"),
        ("6.1.0-56-amd64", "6.1.0-56-cloud-amd64"),
    ],
)
def test_versions_are_compared_by_number(older: str, newer: str) -> None:
    assert newest([f"vmlinuz-{newer}", f"vmlinuz-{older}"]) == newer
    assert newest([f"vmlinuz-{older}", f"vmlinuz-{newer}"]) == newer


def rhel(root: Path, environment: str = "") -> str:
    for kernel in ("5.14.0-427.el9.x86_64", "5.14.0-570.el9.x86_64"):
        write(root / f"boot/loader/entries/abc-{kernel}.conf", f"title RHEL\nlinux /vmlinuz-{kernel}\ninitrd /x\n")
    write(root / "boot/grub2/grubenv", environment)
    return str(root)


def test_rhel_without_grubby_boots_the_saved_entry_or_the_newest(tmp_path: Path) -> None:
    assert next_kernel(absent, rhel(tmp_path)) == "5.14.0-570.el9.x86_64"
    saved = rhel(tmp_path, "saved_entry=abc-5.14.0-427.el9.x86_64\n")
    assert next_kernel(absent, saved) == "5.14.0-427.el9.x86_64"


def test_grubby_is_asked_and_a_one_time_choice_comes_before_it(tmp_path: Path) -> None:
    def grubby(argv: Sequence[str], **_more: Any) -> CommandResult:
        assert list(argv) == ["grubby", "--default-kernel"]
        return CommandResult(0, "/boot/vmlinuz-5.14.0-427.el9.x86_64\n", "")

    assert next_kernel(grubby, rhel(tmp_path)) == "5.14.0-427.el9.x86_64"
    once = rhel(tmp_path, "next_entry=abc-5.14.0-570.el9.x86_64\nsaved_entry=abc-5.14.0-427.el9.x86_64\n")
    assert next_kernel(grubby, once) == "5.14.0-570.el9.x86_64"


def test_the_running_kernel_comes_first_and_none_twice(tmp_path: Path) -> None:
    root = grub(tmp_path)
    write(tmp_path / "kernel/proc/sys/kernel/osrelease", f"{OLD}\n")
    assert boot_kernels(absent, str(tmp_path / "kernel"), root) == [OLD, NEW]
    write(tmp_path / "kernel/proc/sys/kernel/osrelease", f"{NEW}\n")
    assert boot_kernels(absent, str(tmp_path / "kernel"), root) == [NEW]
