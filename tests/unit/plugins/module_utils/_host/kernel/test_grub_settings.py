# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The GRUB drop-in: what a shell makes of it, and what a menu of GRUB has."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.grub_settings import (
    check_arguments,
    drop_in,
    loses,
    menu_lacks,
    missing_arguments,
)

# As grub-mkconfig of Debian 12 writes it.
MENU = """\
menuentry 'Debian GNU/Linux' --class debian {
	echo	'Loading Linux 6.1.0-18-amd64 ...'
	linux	/boot/vmlinuz-6.1.0-18-amd64 root=UUID=5a4d0b0e ro  quiet iommu=pt intel_iommu=on
	initrd	/boot/initrd.img-6.1.0-18-amd64
}
menuentry 'Debian GNU/Linux (recovery mode)' --class debian {
	linux	/boot/vmlinuz-6.1.0-18-amd64 root=UUID=5a4d0b0e ro single
}
"""


@pytest.mark.parametrize(
    ("defaults", "result"),
    [
        ('GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"', "quiet splash iommu=pt intel_iommu=on"),
        ("", " iommu=pt intel_iommu=on"),
        ('GRUB_CMDLINE_LINUX_DEFAULT="dyndbg=\\"file x +p\\""', 'dyndbg="file x +p" iommu=pt intel_iommu=on'),
    ],
)
def test_a_shell_that_reads_the_drop_in_has_the_operators_words_and_ours(defaults: str, result: str) -> None:
    script = f"{defaults}\n{drop_in(['iommu=pt', 'intel_iommu=on'])}printf '%s' \"$GRUB_CMDLINE_LINUX_DEFAULT\"\n"
    assert (
        subprocess.run(["sh", "-euc" if defaults else "-ec", script], capture_output=True, text=True).stdout == result
    )


@pytest.mark.parametrize(
    "argument", ["iommu=pt", "quiet", "intel_idle.max_cstate=0", "console=ttyS0,115200n8", "isolcpus=1-3,7"]
)
def test_arguments(argument: str) -> None:
    check_arguments([argument])


@pytest.mark.parametrize("argument", ["", "a b", "x=$(reboot)", 'x="y"', "x=`y`", "x='y'", "x=y\\z", "x=y\nz"])
def test_what_a_shell_would_read_otherwise_is_refused(argument: str) -> None:
    with pytest.raises(GaudiError, match="is not one argument"):
        check_arguments(["iommu=pt", argument])


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("BOOT_IMAGE=/vmlinuz ro quiet", ["iommu=pt", "intel_iommu=on"]),
        ("ro iommu=pt quiet", ["intel_iommu=on"]),
        ("ro intel_iommu=on iommu=pt\n", []),
        ("ro iommu=pt,strict xiommu=pt intel_iommu=off", ["iommu=pt", "intel_iommu=on"]),
    ],
)
def test_missing_arguments(line: str, missing: list[str]) -> None:
    assert missing_arguments(line, ["iommu=pt", "intel_iommu=on"]) == missing


def test_a_menu_needs_one_line_with_each_argument() -> None:
    assert menu_lacks(MENU, ["iommu=pt", "intel_iommu=on"]) == []
    assert menu_lacks(MENU, ["iommu=pt", "nosmt"]) == ["nosmt"]
    assert menu_lacks("# linux iommu=pt\n", ["iommu=pt"]) == ["iommu=pt"]
    assert menu_lacks("  linuxefi /vmlinuz ro iommu=pt\n", ["iommu=pt"]) == []


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ('GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\n', ["iommu=pt", "intel_iommu=on"]),
        ("  export GRUB_CMDLINE_LINUX_DEFAULT='console=ttyS0 iommu=pt'\n", ["intel_iommu=on"]),
        ('GRUB_CMDLINE_LINUX_DEFAULT=""\n', ["iommu=pt", "intel_iommu=on"]),
        ('GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT quiet"\n', []),
        ('GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} quiet"\n', []),
        ('GRUB_CMDLINE_LINUX_DEFAULT+=" quiet"\nGRUB_CMDLINE_LINUX="x"\n', []),
        ('#GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n', []),
        ('GRUB_CMDLINE_LINUX_DEFAULT="intel_iommu=on iommu=pt"\n', []),
    ],
)
def test_what_later_settings_take_away(text: str, lost: list[str]) -> None:
    assert loses(text, ["iommu=pt", "intel_iommu=on"]) == lost
