# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.mounts import (
    Mount,
    check_mounts,
    on_node,
    owned_by_node,
    parse_mount,
    same_place,
    without_covered,
)


@pytest.mark.parametrize(
    ("word", "mount"),
    [
        ("/data", Mount("/data", "/data")),
        ("/data/", Mount("/data", "/data")),
        ("/data:ro", Mount("/data", "/data", True)),
        ("/data:/mnt", Mount("/data", "/mnt")),
        ("/data:/mnt:rw", Mount("/data", "/mnt")),
        ("/data:/mnt:ro", Mount("/data", "/mnt", True)),
    ],
)
def test_a_mount_and_its_word(word, mount):
    assert parse_mount(word) == mount
    assert parse_mount(mount.word) == mount


@pytest.mark.parametrize(
    "word",
    ["", "data", "data:/mnt", "/data:mnt", "/data:/mnt:z", "/a:/b:ro:x", "/a,b", "/a/../etc", "--privileged", "/a\n"],
)
def test_what_is_none_is_one_sentence(word):
    with pytest.raises(
        GaudiError, match=r"^mounts has .*; give HOST, HOST:CONTAINER or HOST:CONTAINER:ro, with absolute"
    ):
        check_mounts([word])


@pytest.mark.parametrize(
    ("word", "own"),
    [
        ("/:/host", "/"),
        ("/data:/", "/"),
        ("/etc:/data/etc:ro", "/etc"),
        ("/data:/etc", "/etc"),
        ("/data:/usr/lib/python3", "/usr"),
        ("/dev/accel:/dev/accel", "/dev"),
        ("/proc:/p", "/proc"),
        ("/data:/sys/fs", "/sys"),
        ("/run/user:/x", "/run"),
        ("/var:/var", "/var/lib/gaudi3_scale/control"),
        ("/var/lib/gaudi3_scale:/x:ro", "/var/lib/gaudi3_scale/control"),
        ("/var/lib/gaudi3_scale/control/llama:/x", "/var/lib/gaudi3_scale/control"),
    ],
)
def test_what_is_the_nodes_own_is_neither_covered_nor_handed_over(word, own):
    with pytest.raises(GaudiError) as refused:
        check_mounts([word])
    assert f"holds what belongs to the node ({own}); mount only the directory" in str(refused.value)


@pytest.mark.parametrize("path", ["/data", "/etcetera", "/usrlocal", "/srv/run", "/var/lib/gaudi3_scale/jobs/llama"])
def test_other_places_are_anybodys(path):
    assert owned_by_node(path, "/var/lib/gaudi3_scale") == ""


def test_a_place_in_the_container_is_given_once():
    with pytest.raises(GaudiError, match="names /mnt in the container more than once"):
        check_mounts(["/a:/mnt", "/b:/mnt"])


def test_what_stands_later_wins_and_outer_mounts_are_made_first():
    found = without_covered([same_place("/b/c"), same_place("/a", read_only=True), same_place("/b"), Mount("/x", "/a")])
    assert found == (Mount("/x", "/a"), Mount("/b", "/b"), Mount("/b/c", "/b/c"))


@pytest.mark.parametrize(
    ("path", "there"),
    [("/mnt/in/x.py", "/inner/x.py"), ("/mnt/x.py", "/outer/x.py"), ("/mnt", "/outer"), ("/mntx", ""), ("/opt/x", "")],
)
def test_where_a_path_of_the_container_lies_on_the_node(path, there):
    assert on_node(path, [Mount("/outer", "/mnt"), Mount("/inner", "/mnt/in")]) == there
