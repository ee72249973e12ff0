# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether an account may open the cards: what is said beforehand is what the kernel then does."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.device_access import (
    check_device_access,
    device_nodes,
    may_open,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

USER = "nobody"
OPEN = 'exec 3<> "$1"'
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")


@pytest.fixture
def kernel_root(tmp_path):
    """The device nodes of two cards, and what else lies beside them."""
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    accel = tmp_path / "dev" / "accel"
    accel.mkdir(parents=True)
    for name in ("accel0", "accel_controlD0", "accel1", "accel_controlD1", "by-path", "accel0.new"):
        (accel / name).touch()
        (accel / name).chmod(0o660)
    for name in ("hl0", "hl_controlD0", "hlx", "null"):
        (tmp_path / "dev" / name).touch()
        (tmp_path / "dev" / name).chmod(0o666)
    return str(tmp_path)


def test_the_cards_nodes_of_new_and_old_drivers_and_nothing_else(kernel_root):
    assert [path.name for path in device_nodes(kernel_root)] == [
        "accel0", "accel1", "accel_controlD0", "accel_controlD1", "hl0", "hl_controlD0"
    ]  # fmt: skip


@as_root
@pytest.mark.parametrize("mode", [0o600, 0o606, 0o640, 0o644, 0o646, 0o660, 0o664, 0o666])
@pytest.mark.parametrize("owner", ["root", USER])
@pytest.mark.parametrize("group", [0, pwd.getpwnam(USER).pw_gid, 44])
def test_an_account_may_open_what_the_kernel_lets_it_open(kernel_root, mode, owner, group):
    path = device_nodes(kernel_root)[0]
    os.chown(path, pwd.getpwnam(owner).pw_uid, group)
    path.chmod(mode)
    argv = ["runuser", "-u", USER, "--", "bash", "-c", OPEN, "sh", str(path)]
    opened = subprocess.run(argv, check=False, stderr=subprocess.DEVNULL, cwd="/").returncode == 0
    assert may_open(pwd.getpwnam(USER), path) is opened


@as_root
def test_the_group_to_join_is_named(kernel_root):
    for path in device_nodes(kernel_root)[:4]:
        os.chown(path, 0, grp.getgrnam("video").gr_gid)
    with pytest.raises(GaudiError) as caught:
        check_device_access(USER, "hpu", kernel_root)
    assert str(caught.value) == (
        f"user nobody cannot open {kernel_root}/dev/accel/accel0 and 3 more on this node (group video, mode 0660); add "
        "it to the group video (gaudi_venv_user_groups), or set another user."
    )


@as_root
def test_nobody_is_told_to_join_the_group_root(kernel_root):
    with pytest.raises(GaudiError, match=r"group root, mode 0660\); give the cards' devices a dedicated group with"):
        check_device_access(USER, "hpu", kernel_root)


def test_root_opens_all_and_other_devices_are_not_asked_for(kernel_root):
    check_device_access("root", "hpu", kernel_root)
    check_device_access(USER, "cpu", kernel_root)
    check_device_access(USER, "hpu", f"{kernel_root}/without-a-driver")
