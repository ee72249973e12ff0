# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where recipes lie, and which of them go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags import recipe_cache
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.recipe_cache import (
    Used,
    above_limit,
    file_system,
    gone,
    in_use,
    of_job,
    overlaps,
)

MOUNTS = """overlay / overlay rw 0 0
/dev/sda1 /var ext4 rw 0 0
server:/x /var/lib/shared nfs4 rw 0 0
server:/y /mnt/with\\040blank nfs rw 0 0
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/cache/1.24.1-482/ab,false,8192", "/cache/1.24.1-482/ab/night,false,8192"),
        ("/cache/,true,1,true", "/cache/night,true,1,true"),
        ("/cache", "/cache/night"),
        (",false,8192", ",false,8192"),
        ("", ""),
        ("relative,false,1", "relative,false,1"),
    ],
)
def test_a_job_has_a_directory_of_its_own(text: str, expected: str) -> None:
    assert of_job(text, "night") == expected


def test_other_releases_are_gone_and_other_things_are_not_ours() -> None:
    assert gone(["1.23.0-695", "1.24.1-482", "notes", "1.22", "1.20.0-1.bak"], "1.24.1-482") == ["1.23.0-695"]


def test_the_longest_unused_go_until_the_rest_fits() -> None:
    used = [Used("/c/new", 40, 30.0), Used("/c/old", 40, 10.0), Used("/c/middle", 40, 20.0)]
    assert above_limit(used, 120) == []
    assert above_limit(used, 119) == ["/c/old"]
    assert above_limit(used, 79) == ["/c/old", "/c/middle"]
    assert above_limit(used, 0) == []


@pytest.mark.parametrize(
    ("path", "point", "kind", "remote"),
    [
        ("/var/lib/gaudi3_scale/recipe_cache", "/var", "ext4", False),
        ("/var/lib/shared/cache", "/var/lib/shared", "nfs4", True),
        ("/var/lib/shared2", "/var", "ext4", False),
        ("/mnt/with blank/cache", "/mnt/with blank", "nfs", True),
        ("/opt", "/", "overlay", False),
    ],
)
def test_a_path_lies_on_the_innermost_mount(path: str, point: str, kind: str, remote: bool) -> None:
    assert file_system(MOUNTS, path) == (point, kind)
    assert recipe_cache.is_remote(kind) is remote


@pytest.mark.parametrize("kind", ["lustre", "beegfs", "fuse.sshfs", "ceph", "cifs"])
def test_shared_file_systems_are_remote(kind: str) -> None:
    assert recipe_cache.is_remote(kind)
    assert not recipe_cache.is_remote("xfs")


def test_looks_below_the_root_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "1.23.0-695" / "ab").mkdir(parents=True)
    job = tmp_path / "1.24.1-482" / "cd" / "night"
    job.mkdir(parents=True)
    (job / "recipe").write_bytes(b"x" * 10)
    os.utime(job / "recipe", (50, 60))
    (tmp_path / "1.22.0-740").symlink_to(tmp_path / "1.24.1-482")
    stale, used = recipe_cache.look(str(tmp_path), "1.24.1-482")
    assert stale == [str(tmp_path / "1.23.0-695")]
    assert used == [Used(str(job), 10, 60.0)]
    recipe_cache.remove(stale[0])
    recipe_cache.empty(str(tmp_path), str(job))
    assert recipe_cache.look(str(tmp_path), "1.24.1-482") == ([], [])
    assert job.is_dir()


@pytest.mark.parametrize("swapped", ["1.24.1-482/cd", "1.24.1-482/cd/night"], ids=["the directory above", "itself"])
def test_a_link_that_a_job_puts_in_a_directory_s_place_is_not_followed(tmp_path: Path, swapped: str) -> None:
    others = tmp_path / "others" / "night"
    others.mkdir(parents=True)
    for place in (others, others.parent):
        (place / "file").write_text("not a recipe", encoding="utf-8")
    job = tmp_path / "cache" / "1.24.1-482" / "cd" / "night"
    job.mkdir(parents=True)
    place = tmp_path / "cache" / swapped
    place.rename(tmp_path / "away")
    place.symlink_to(tmp_path / "others")
    with pytest.raises(GaudiError, match=r"night cannot be emptied: .*; remove it by hand\."):
        recipe_cache.empty(str(tmp_path / "cache"), str(job))
    assert (others / "file").exists() and (others.parent / "file").exists()


def test_a_cache_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert recipe_cache.look(str(tmp_path / "none"), "1.24.1-482") == ([], [])


def test_running_processes_say_where_their_recipes_lie(tmp_path: Path) -> None:
    for number, entries in enumerate((b"A=b\0PT_HPU_RECIPE_CACHE_CONFIG=/cache/old/ab/,false,8\0", b"HOME=/\0", b"")):
        process = tmp_path / str(number + 1)
        process.mkdir()
        (process / "environ").write_bytes(entries)
    (tmp_path / "9").mkdir()
    assert in_use(str(tmp_path)) == ["/cache/old/ab"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/cache/1.23", True), ("/cache/1.23/ab/night", True), ("/cache/1.23/ab", True), ("/cache/1.2", False)],
    ids=["above", "below", "itself", "begins alike"],
)
def test_a_directory_overlaps_those_above_and_below(path: str, expected: bool) -> None:
    assert overlaps(path, ["/cache/1.23/ab"]) is expected
