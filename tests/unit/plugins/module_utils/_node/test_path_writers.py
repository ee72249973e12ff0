# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who may change what is found at a path, and what root gives away by it: run as root, with the account of nobody."""

from __future__ import annotations

import os
import pwd
import struct

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.account_directory import (
    check_given,
    give,
    let_group_read,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.path_writers import (
    is_roots,
    may_change,
    others_place,
)

NOBODY, DAEMON = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")


@pytest.fixture
def theirs(place):
    own = place / "theirs"
    give(str(own), NOBODY)
    return own


def test_what_is_roots_all_the_way_is_nobody_elses(place):
    (place / "a").mkdir()
    (place / "a/file").touch()
    (place / "link").symlink_to("a/file")
    for path in ("a", "a/file", "link", "a/../link", "a/not-yet", "gone/and/away"):
        assert others_place(str(place / path)) is None, path
    assert others_place("/") is None


@pytest.mark.parametrize("path", ["theirs", "theirs/x", "to_theirs", "theirs/back/file", "shared/x", "all/x"])
def test_the_place_that_another_account_may_change_is_named(place, theirs, path):
    (place / "own").mkdir()
    (place / "own/file").touch()
    (place / "to_theirs").symlink_to(theirs)
    (theirs / "back").symlink_to(place / "own")
    for name, mode in (("shared", 0o775), ("all", 0o777)):
        (place / name).mkdir()
        (place / name).chmod(mode)
    found = others_place(str(place / path))
    assert found is not None and found.path.startswith(str(place))
    assert not is_roots(str(place / path))


def test_links_in_a_circle_are_nobodys_to_trust(place):
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    assert not is_roots(str(place / "a"))
    assert may_change(str(place / "a"), NOBODY)


def test_rights_of_a_single_account_count(place):
    (place / "listed").mkdir()
    # acl(5) as the kernel keeps it: a version, then tag, rights and number of each: owner, nobody, group, mask, others.
    entries = ((1, 7, -1), (2, 7, NOBODY.pw_uid), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    text = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, rights, who & 0xFFFFFFFF) for tag, rights, who in entries
    )
    try:
        os.setxattr(place / "listed", "system.posix_acl_access", text)
    except OSError:
        pytest.skip("this file system has no access lists")
    assert may_change(str(place / "listed/x"), NOBODY)
    assert others_place(str(place / "listed/x")) is not None


def test_nothing_that_was_there_is_given_away(place):
    (place / "roots").mkdir()
    (place / "roots/file").touch()
    give(str(place / "daemons"), DAEMON)
    for name, owner in (("roots", "root"), ("daemons", "daemon")):
        for how in ({}, {"instead_of_empty": True}):
            with pytest.raises(GaudiError, match=f"already exists and belongs to {owner}, and nobody cannot continue"):
                give(str(place / name), NOBODY, **how)
        with pytest.raises(GaudiError, match=f"belongs to {owner}"):
            check_given(str(place / name), NOBODY)
    assert (place / "roots").stat().st_uid == 0
    assert (place / "daemons").stat().st_uid == DAEMON.pw_uid


def test_one_of_roots_that_we_have_made_is_handed_over_and_nothing_in_it(place):
    (place / "roots").mkdir()
    (place / "roots/file").touch()
    give(str(place / "roots"), NOBODY, made_by_us=True)
    assert ((place / "roots").stat().st_uid, (place / "roots/file").stat().st_uid) == (NOBODY.pw_uid, 0)
    give(str(place / "daemons"), DAEMON)
    (place / "daemons/file").touch()
    with pytest.raises(GaudiError, match="belongs to daemon"):
        give(str(place / "daemons"), NOBODY, made_by_us=True)


def test_an_empty_one_of_roots_makes_room_only_where_that_is_said(place):
    (place / "empty").mkdir()
    with pytest.raises(GaudiError, match="belongs to root"):
        give(str(place / "empty"), NOBODY)
    check_given(str(place / "empty"), NOBODY)
    # Who works in the old one is alone there: it is another one.
    old = os.open(place / "empty", os.O_RDONLY)
    give(str(place / "empty"), NOBODY, instead_of_empty=True)
    assert (place / "empty").stat().st_uid == NOBODY.pw_uid
    assert os.fstat(old).st_uid == 0
    os.close(old)


def test_no_link_is_followed_and_a_file_is_none(place):
    (place / "victim").mkdir()
    (place / "link").symlink_to("victim")
    (place / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(GaudiError, match="is not a directory"):
            give(str(place / name), NOBODY, instead_of_empty=True)
    assert (place / "victim").stat().st_uid == (place / "file").stat().st_uid == 0


def test_root_makes_nothing_for_an_account_in_a_place_of_that_account(place, theirs):
    with pytest.raises(GaudiError, match="can be changed by nobody, so root creates nothing"):
        give(str(theirs / "new"), NOBODY)
    assert not (theirs / "new").exists()


def test_given_again_it_stays_as_it_is(place, theirs):
    (theirs / "kept").touch()
    theirs.chmod(0o700)
    give(str(theirs), NOBODY, instead_of_empty=True)
    assert (theirs / "kept").exists() and theirs.stat().st_mode & 0o777 == 0o700


def test_a_group_is_let_into_the_file_itself(place):
    (place / "victim").touch()
    (place / "victim").chmod(0o600)
    (place / "link").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"):
        let_group_read(str(place / "link"), NOBODY.pw_gid, 0o640)
    os.mkfifo(place / "pipe")
    let_group_read(str(place / "pipe"), NOBODY.pw_gid)
    let_group_read(str(place / "not-yet"), NOBODY.pw_gid)
    give(str(place / "theirs"), NOBODY)
    with pytest.raises(GaudiError, match="and not to root; remove it"):
        let_group_read(str(place / "theirs"), NOBODY.pw_gid)
    assert ((place / "victim").stat().st_gid, (place / "victim").stat().st_mode & 0o777) == (0, 0o600)
