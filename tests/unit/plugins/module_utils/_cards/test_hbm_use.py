# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who holds a card and how much of its memory, also in a container that has another name and /dev/shm of its own."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hbm_use import (
    held_by,
    held_bytes,
    of_holder,
    on_cards,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import find_holders

GIB = 1 << 30
# A program that opens files and says so; it ends with its input.
OPENS = "import sys; kept = [open(path, 'rb') for path in sys.argv[1:]]; print('open', flush=True); sys.stdin.read()"


def usage(used: int, version: int = 1, more: bytes = b"") -> bytes:
    return struct.pack("<3Q", version, 1_795_000_000, used) + more


@contextmanager
def running(*command: str) -> Iterator[int]:
    """The process while it has all open."""
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            if child.stdout.readline() != "open\n":
                pytest.skip("this machine lets no test have a mount of its own")
            yield child.pid
        finally:
            child.stdin.close()


@contextmanager
def opening(*paths: Path) -> Iterator[int]:
    with running(sys.executable, "-c", OPENS, *map(str, paths)) as pid:
        yield pid


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    place = tmp_path / "shm"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("content", "used"),
    [
        (usage(61 * GIB), 61 * GIB),
        (usage(GIB, 2, b"more of a later version"), GIB),
        (usage(0), 0),
        (usage(1 << 60), None),
        (usage(GIB, 0), None),
        (usage(GIB)[:23], None),
        (b"", None),
    ],
)
def test_what_synapse_says_is_taken_where_a_card_can_have_it(shared: Path, content: bytes, used: int | None) -> None:
    (shared / "mem_usage_accel3").write_bytes(content)
    with opening(shared / "mem_usage_accel3") as pid:
        assert held_bytes(pid, shared_memory=str(shared)) == ({} if used is None else {"accel3": used})
    assert held_bytes(pid, shared_memory=str(shared)) == {}


def test_nothing_else_is_read(shared: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mem_usage_accel3"
    elsewhere.write_bytes(usage(GIB))
    (shared / "mem_usage_accelerator").write_bytes(usage(GIB))
    os.mkfifo(shared / "mem_usage_accel4")
    # Opened to read and write, it does not wait for another end.
    pipe = os.open(shared / "mem_usage_accel4", os.O_RDWR)
    try:
        with opening(elsewhere, shared / "mem_usage_accelerator", shared / "mem_usage_accel4") as pid:
            assert held_bytes(pid, shared_memory=str(shared)) == {}
    finally:
        os.close(pipe)


def test_one_that_was_removed_is_still_told_and_this_process_may_ask_of_itself(shared: Path) -> None:
    path = shared / "mem_usage_accel0"
    path.write_bytes(usage(3 * GIB))
    with path.open("rb"):
        path.unlink()
        assert held_bytes("self", shared_memory=str(shared)) == {"accel0": 3 * GIB}
        assert held_by([os.getpid(), 1 << 22], shared_memory=str(shared)) == [3 * GIB]


def test_the_holder_s_card_has_what_it_holds(tmp_path: Path, shared: Path) -> None:
    cards = tmp_path / "node/dev/accel"
    cards.mkdir(parents=True)
    for name in ("accel3", "accel_controlD3"):
        (cards / name).touch()
    (shared / "mem_usage_accel3").write_bytes(usage(5 * GIB))
    with opening(cards / "accel3", cards / "accel_controlD3", shared / "mem_usage_accel3"):
        (holder,) = find_holders(str(tmp_path / "node"))
        assert holder.devices == ("accel3", "accel_controlD3")
        assert of_holder(holder, shared_memory=str(shared)) == {"accel3": 5 * GIB}


# The container's own /dev/shm, and the node's accel3 as its accel0.
CONTAINER = """
mount -t tmpfs none /dev/shm && mkdir -p "$2/dev/accel" && touch "$2/dev/accel/accel0" &&
mount --bind "$1" "$2/dev/accel/accel0" && cp "$3" /dev/shm/mem_usage_accel0 &&
exec "$4" -c "$5" "$2/dev/accel/accel0" /dev/shm/mem_usage_accel0
"""


@pytest.mark.parametrize("is_device", [False, True])
def test_a_job_in_a_container_with_its_own_dev_shm_and_a_renamed_device_is_found(
    tmp_path: Path, is_device: bool
) -> None:
    card = tmp_path / "node/dev/accel/accel3"
    card.parent.mkdir(parents=True)
    try:
        # That of /dev/full, which hardly anybody has open.
        os.mknod(card, 0o020666 if is_device else 0o100666, os.makedev(1, 7))
    except OSError as error:
        pytest.skip(f"this machine lets no test make a device: {error}")
    (tmp_path / "usage").write_bytes(usage(7 * GIB))
    words = (str(card), str(tmp_path / "container"), str(tmp_path / "usage"), sys.executable, OPENS)
    with running("unshare", "--mount", "sh", "-c", CONTAINER, "sh", *words) as pid:
        (holder,) = (one for one in find_holders(str(tmp_path / "node")) if one.pid == pid)
        assert holder.devices == ("accel3",)
        assert on_cards([holder]) == {"accel3": 7 * GIB}
    assert not Path("/dev/shm/mem_usage_accel0").exists()
