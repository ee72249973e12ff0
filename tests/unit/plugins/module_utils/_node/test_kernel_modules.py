# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded modules, the files they would come from, and who has a card open, on roots made for the purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import (
    Holder,
    find_holders,
    foreign_files,
    load,
    loaded_modules,
    loaded_version,
    module_files,
    render_modules_load,
    running_kernel,
    unload,
)

NAMES = ("habanalabs_compat", "habanalabs", "habanalabs_cn")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_running_kernel_is_read_below_the_root(tmp_path: Path) -> None:
    write(tmp_path / "proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    assert running_kernel(str(tmp_path)) == "6.8.0-45-generic"


def test_a_root_without_a_kernel_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"osrelease does not show the running kernel; mount /proc, and"):
        running_kernel(str(tmp_path))


def test_loaded_modules_are_whole_names_in_load_order(tmp_path: Path) -> None:
    write(
        tmp_path / "proc/modules",
        "habanalabs_cn 65536 8 habanalabs_en, Live 0x0 (OE)\n"
        "habanalabs 1 8 - Live 0x0\nhabanalabs_compat_x 1 0 - Live 0\n",
    )
    assert loaded_modules(NAMES, str(tmp_path)) == ("habanalabs", "habanalabs_cn")
    assert loaded_modules(NAMES, str(tmp_path / "nothing")) == ()


def test_the_module_tells_its_version_before_the_cards_do(tmp_path: Path) -> None:
    assert loaded_version(str(tmp_path)) is None
    write(tmp_path / "sys/class/accel/accel0/device/driver_ver", "1.23.0-2eae87a\n")
    assert loaded_version(str(tmp_path)) == "1.23.0-2eae87a"
    write(tmp_path / "sys/module/habanalabs/version", "1.24.1-b336d5e\n")
    assert loaded_version(str(tmp_path)) == "1.24.1-b336d5e"


def test_the_file_of_each_module_is_asked_for_once() -> None:
    calls = []

    def run(argv: Any, **_more: Any) -> CommandResult:
        calls.append(list(argv))
        listing = (
            "/lib/modules/6.8.0-45-generic/updates/dkms/habanalabs.ko.zst\n"
            "/lib/modules/6.8.0-45-generic/updates/dkms/habanalabs_cn.ko\n"
        )
        return CommandResult(1, listing, "modinfo: ERROR: Module habanalabs_compat not found.\n")

    files = module_files(NAMES, "6.8.0-45-generic", run)
    assert calls == [["modinfo", "-k", "6.8.0-45-generic", "-F", "filename", *NAMES]]
    assert sorted(files) == ["habanalabs", "habanalabs_cn"]
    assert foreign_files(files) == []


@pytest.mark.parametrize(
    ("path", "foreign"),
    [
        ("/lib/modules/6.8.0/updates/dkms/habanalabs.ko", False),
        ("/lib/modules/5.14.0/extra/habanalabs.ko.xz", False),
        ("/lib/modules/5.14.0/weak-updates/habanalabs.ko.xz", False),
        ("/lib/modules/6.8.0/kernel/drivers/accel/habanalabs/habanalabs.ko.zst", True),
    ],
)
def test_a_module_of_the_kernels_own_tree_is_foreign(path: str, foreign: bool) -> None:
    assert foreign_files({"habanalabs": path}) == ([path] if foreign else [])


def test_the_list_for_the_boot_is_in_load_order() -> None:
    assert render_modules_load(NAMES, "1.24.1").splitlines()[1:] == list(NAMES)


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("modprobe: ERROR: could not insert 'habanalabs': Key was rejected by service", "Secure Boot .* mokutil"),
        ("modprobe: FATAL: Module habanalabs not found in directory /lib/modules/6.8.0", "dkms status"),
        ("modprobe: ERROR: could not insert 'habanalabs': Exec format error", "dmesg"),
    ],
)
def test_a_module_that_does_not_load_is_told_with_a_remedy(said: str, remedy: str) -> None:
    with pytest.raises(GaudiError, match=f"module habanalabs cannot be loaded .*{remedy}"):
        load("habanalabs", lambda *_argv, **_more: CommandResult(1, "", f"{said}\n"))


def test_a_module_in_use_is_told() -> None:
    said = "rmmod: ERROR: Module habanalabs is in use"
    with pytest.raises(GaudiError, match=r"cannot be unloaded .*is in use.*; stop what uses the cards"):
        unload("habanalabs", lambda *_argv, **_more: CommandResult(1, "", said))


def test_a_real_process_with_a_card_open_is_found(tmp_path: Path) -> None:
    card = tmp_path / "dev/accel/accel3"
    write(card, "")
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    assert find_holders(str(tmp_path)) == []
    with card.open() as stream:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[stream.fileno()])
    try:
        for root in (tmp_path, link):
            holders = find_holders(str(root))
            assert [holder.pid for holder in holders] == [child.pid]
            assert holders[0].devices == ("accel3",)
            assert f"process {child.pid} (" in str(holders[0])
    finally:
        child.communicate(b"\n")
    assert find_holders(str(tmp_path)) == []


@pytest.mark.parametrize(
    ("group", "unit"),
    [
        ("/system.slice/gaudi3-scale-job-demo.service", "gaudi3-scale-job-demo.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        # systemctl of the system knows no such service: only its owner can stop it.
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service", "user@1000.service"),
    ],
)
def test_the_unit_of_a_holder_is_named(tmp_path: Path, group: str, unit: str) -> None:
    process = tmp_path / "proc/4711"
    (process / "fd").mkdir(parents=True)
    (process / "fd/5").symlink_to(f"{os.path.realpath(tmp_path)}/dev/accel/accel0")
    (process / "fd/6").symlink_to(f"{os.path.realpath(tmp_path)}/dev/accelerator")
    write(process / "comm", "python3\n")
    write(process / "cgroup", f"0::{group}\n")
    (tmp_path / "proc/self").mkdir()
    assert find_holders(str(tmp_path), str(tmp_path / "proc")) == [Holder(4711, "python3", unit, ("accel0",))]


def test_a_number_that_several_devices_share_makes_nobody_their_holder(tmp_path: Path) -> None:
    cards = tmp_path / "dev/accel"
    cards.mkdir(parents=True)
    try:
        for index in range(2):
            os.mknod(cards / f"accel{index}", 0o020666, Path(os.devnull).stat().st_rdev)
    except OSError as error:
        pytest.skip(f"no devices can be made here: {error}")
    with Path(os.devnull).open(), (cards / "accel1").open():
        held = {holder.pid: holder.devices for holder in find_holders(str(tmp_path))}
    assert held == {os.getpid(): ("accel1",)}
