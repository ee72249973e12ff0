# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a step of a real process: what it took and gave back counts, and what the kernel takes of files not."""

from __future__ import annotations

import mmap

import pytest

from gaudi3_scale.batch.process_memory import ProcessMemory

MIB = 1 << 20
SIZE = 32 * MIB


@pytest.fixture
def file_in_memory(tmp_path):
    """A file whose pages this process has all touched, as those of a library."""
    path = tmp_path / "library"
    path.write_bytes(b"x" * SIZE)
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:: mmap.PAGESIZE].count(b"x") == SIZE // mmap.PAGESIZE
        yield mapped


def test_pages_of_a_file_that_go_during_a_step_are_none_of_its_memory(file_in_memory):
    memory = ProcessMemory()
    memory.start_step()
    # As a kernel does that is short of memory.
    file_in_memory.madvise(mmap.MADV_DONTNEED)
    assert memory.step_peak() < MIB


def test_pages_of_a_file_that_come_during_a_step_are_none_of_its_memory(file_in_memory):
    file_in_memory.madvise(mmap.MADV_DONTNEED)
    memory = ProcessMemory()
    memory.start_step()
    assert file_in_memory[:: mmap.PAGESIZE].count(b"x") == SIZE // mmap.PAGESIZE
    assert memory.step_peak() < MIB


def test_what_a_step_took_and_gave_back_was_in_use(file_in_memory):
    memory = ProcessMemory()
    memory.start_step()
    with mmap.mmap(-1, SIZE) as taken:
        taken.write(b"x" * (SIZE // 2))
    file_in_memory.madvise(mmap.MADV_DONTNEED)
    assert SIZE // 2 <= memory.step_peak() <= SIZE + MIB
    memory.start_step()
    assert memory.step_peak() < MIB
