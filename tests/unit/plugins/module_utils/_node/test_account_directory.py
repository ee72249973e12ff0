# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an account other than root's can make root do in directories of its own: run as root, with that of nobody."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.account_directory import (
    acting_as,
    acting_as_owner,
    give,
    remove,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.path_writers import may_change

NOBODY = pwd.getpwnam("nobody")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")


@pytest.fixture
def own(place):
    give(str(place / "jobs/own"), NOBODY)
    return place / "jobs/own"


def as_nobody(*argv):
    # By setpriv(1): setuid(2) between fork and exec, as `user=` has it, ended with SIGABRT once beside other threads.
    subprocess.run(["setpriv", "--reuid=nobody", "--keep-groups", *argv], check=True, capture_output=True)


@as_root
def test_root_reads_through_a_link_only_what_the_account_may_read(place, own):
    (place / "secret").write_text("root's")
    (place / "secret").chmod(0o600)
    (place / "public").write_text("all's")
    for name in ("secret", "public"):
        as_nobody("ln", "-s", str(place / name), str(own / name))
    with acting_as_owner(str(own)):
        assert (own / "public").read_text() == "all's"
        with pytest.raises(PermissionError):
            (own / "secret").read_text()
    assert (own / "secret").read_text() == "root's"


@as_root
def test_what_is_made_there_is_made_with_the_accounts_rights(place, own):
    before = os.geteuid(), os.getegid(), os.getgroups()
    as_nobody("ln", "-s", str(place), str(own / "ranks"))
    with acting_as(NOBODY), pytest.raises(PermissionError):
        (own / "ranks/0").mkdir()
    with acting_as(NOBODY):
        (own / "progress").mkdir()
    assert (own / "progress").stat().st_uid == NOBODY.pw_uid
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before


@as_root
def test_rights_come_back_after_an_exception(own):
    with pytest.raises(ValueError, match="x"), acting_as_owner(str(own)):
        raise ValueError("x")
    assert os.geteuid() == 0


def test_who_owns_nothing_changes_nothing(tmp_path):
    with acting_as_owner(str(tmp_path / "missing")):
        assert os.geteuid() == Path("/proc/self").stat().st_uid


@as_root
def test_links_are_removed_and_not_what_they_lead_to(place, own):
    (place / "kept").mkdir()
    (place / "kept/file").touch()
    as_nobody("ln", "-s", str(place / "kept"), str(own / "link"))
    remove([str(own)])
    assert not own.exists()
    assert (place / "kept/file").exists()


def test_a_tree_of_any_depth_is_removed(tmp_path):
    """Deeper than Python recurses, and than a path can be long."""
    top = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("deep", dir_fd=top)
    at = os.open("deep", os.O_RDONLY, dir_fd=top)
    for _ in range(3000):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    os.close(top)
    remove([str(tmp_path / "deep"), str(tmp_path / "missing")])
    assert not (tmp_path / "deep").exists()


@as_root
@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("root/new/file", False),
        ("jobs/own", True),
        ("jobs/own/file", True),
        # Its own entry of a directory of root's can be filled, and not replaced, but that is as good.
        ("to_own/file", True),
        ("to_root/file", False),
        ("jobs/own/back", True),
        ("sticky/roots", False),
        ("sticky/new", True),
        ("group/file", True),
    ],
)
def test_what_the_account_may_change(place, own, path, changes):
    for name, mode in (("root", 0o755), ("sticky", 0o1777), ("group", 0o775)):
        (place / name).mkdir()
        (place / name).chmod(mode)
    os.chown(place / "group", 0, NOBODY.pw_gid)
    (place / "sticky/roots").touch()
    (place / "to_own").symlink_to(own)
    (place / "to_root").symlink_to("root")
    as_nobody("ln", "-s", str(place / "root"), str(own / "back"))
    assert may_change(str(place / path), NOBODY) is changes
    assert may_change(str(place / path), pwd.getpwuid(0)) is False
