# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether copies of a training's state have room in memory, from what the kernel says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gaudi3_scale.checkpoints.memory_room import (
    IDENTITY,
    directory_of,
    file_system_of,
    identity_in,
    keep_identity,
    new_identity,
    no_room_for,
    shortage,
)

MIB, GIB = 1 << 20, 1 << 30
UNIT = "system.slice/gaudi3-scale-job-books.service"


class Node:
    """What the kernel says: ``available`` of ``whole`` bytes, and a control group with a limit."""

    def __init__(self, folder: Path, available: int, whole: int) -> None:
        self.proc, self.groups, self.directory = folder / "proc", folder / "cgroup", folder / "memory" / "job"
        for made in (self.proc / "self", self.groups / UNIT, self.directory):
            made.mkdir(parents=True)
        lines = (
            f"MemTotal:       {whole >> 10} kB",
            f"MemAvailable:   {available >> 10} kB",
            "HugePages_Total:       0",
        )
        (self.proc / "meminfo").write_text("\n".join(lines))
        self.own_group(f"0::/{UNIT}")

    def own_group(self, line: str) -> None:
        (self.proc / "self" / "cgroup").write_text(f"4:memory:/old\n{line}\n")

    def limit(self, group: str, limit: str, current: int, cache: int) -> None:
        for name, text in {"max": limit, "current": current, "stat": f"anon 5\ninactive_file {cache}"}.items():
            (self.groups / group / f"memory.{name}").write_text(f"{text}\n")

    def shortage(self, copy: int, own: int | None = None) -> str:
        return shortage(self.directory, copy, copy if own is None else own, self.proc, self.groups)


@pytest.mark.parametrize(
    ("available", "is_short"),
    [(10 * GIB, False), (2 * GIB, False), (GIB + 400 * MIB, False), (GIB + 399 * MIB, True), (0, True)],
)
def test_a_tenth_of_the_memory_stays_available(tmp_path, available, is_short):
    """Beside four copies of 100 MiB."""
    assert bool(Node(tmp_path, available, 10 * GIB).shortage(100 * MIB)) is is_short


def test_the_reason_has_the_figures(tmp_path):
    assert Node(tmp_path, 2 * GIB, 100 * GIB).shortage(GIB) == (
        "four copies of 1.0 GiB, two of them while they are written, would leave less than a tenth of the memory of "
        "the node available (2.0 GiB of 100.0 GiB are)"
    )


def test_of_a_part_only_what_is_written_here_is_in_memory_twice_more(tmp_path):
    """A copy of 100 MiB, of which another node writes 60."""
    node = Node(tmp_path, GIB + 280 * MIB, 10 * GIB)
    assert not node.shortage(100 * MIB, 40 * MIB)
    assert node.shortage(100 * MIB, 41 * MIB).startswith(
        "two copies of 100 MiB, and two of the 41 MiB of one that are written here, would leave less than a tenth of "
    )


def test_what_is_read_from_another_node_needs_room_once(tmp_path):
    node = Node(tmp_path, GIB + 100 * MIB, 10 * GIB)
    assert not no_room_for(100 * MIB, node.directory, node.proc, node.groups)
    assert no_room_for(101 * MIB, node.directory, node.proc, node.groups).startswith("101 MiB of a copy would leave ")


def test_what_is_there_already_counts(tmp_path):
    node = Node(tmp_path, GIB + 350 * MIB, 10 * GIB)
    assert node.shortage(100 * MIB)
    folder = node.directory / "step-00000007"
    folder.mkdir()
    with (folder / "__0_0.distcp").open("wb") as stream:
        stream.truncate(100 * MIB)
    assert not node.shortage(100 * MIB)


@pytest.mark.parametrize("group", [UNIT, "system.slice", ""])
def test_the_limit_of_each_group_above_counts(tmp_path, group):
    node = Node(tmp_path, 90 * GIB, 100 * GIB)
    node.limit(group, "max", 5 * GIB, 0)
    assert not node.shortage(GIB)
    node.limit(group, str(8 * GIB), 5 * GIB, 3 * GIB)
    assert not node.shortage(GIB)
    node.limit(group, str(8 * GIB), 5 * GIB, GIB // 2)
    assert f"the memory of its control group {node.groups / group} available (3.5 GiB of 8.0 GiB are)" in node.shortage(
        GIB
    )


def test_a_node_without_such_groups_has_its_own_memory_alone(tmp_path):
    node = Node(tmp_path, 90 * GIB, 100 * GIB)
    node.own_group("3:cpu:/")
    assert not node.shortage(GIB)


def test_a_directory_is_that_of_one_job_in_one_place(tmp_path):
    first, second = new_identity(), new_identity()
    directories = {
        directory_of(Path("/dev/shm"), identity, tmp_path / place) for identity in (first, second) for place in "ab"
    }
    assert len(directories) == 4
    assert {path.parent for path in directories} == {Path("/dev/shm")}


@pytest.mark.parametrize("text", ["", "../../etc", "A" * 32, "0" * 33, "0" * 31])
def test_what_is_no_identity_is_none(tmp_path, text):
    (tmp_path / IDENTITY).write_text(text)
    assert identity_in(tmp_path) is None


def test_an_identity_is_kept(tmp_path):
    assert identity_in(tmp_path) is None
    keep_identity(tmp_path, "0" * 32)
    assert identity_in(tmp_path) == "0" * 32
    assert [path.name for path in tmp_path.iterdir()] == [IDENTITY]


def test_the_kernel_says_what_is_in_memory(tmp_path):
    assert file_system_of(Path("/dev/shm")) == "tmpfs"
    assert file_system_of(Path("/proc")) == "proc"
    assert file_system_of(tmp_path / "missing") == ""
