# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import pytest
import torch
from gaudi3_scale.core.errors import GaudiError

from gaudi3_scale.text_dataset import StreamSampler, TextWindows, read_text, split_windows, text_files


def batches(count, **options):
    sampler = StreamSampler(torch.arange(10), batch_size=4, seed=7, **options)
    return list(itertools.islice(sampler, count))


def test_a_directory_means_its_files_at_any_depth_without_links(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    assert text_files([tmp_path]) == [tmp_path / "a", tmp_path / "sub" / "b"]
    assert bytes(read_text([tmp_path]).tolist()) == b"12"


def test_a_link_that_is_named_itself_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    assert bytes(read_text([tmp_path / "link"]).tolist()) == b"1"


def test_missing_and_empty_text_is_one_sentence(tmp_path):
    with pytest.raises(GaudiError, match=r"^--text .*nothing: there is no such file or directory on this node\.$"):
        read_text([tmp_path / "nothing"])
    with pytest.raises(GaudiError, match="no text is there"):
        read_text([tmp_path])


def test_windows_overlap_by_the_byte_that_is_only_predicted():
    windows = TextWindows(torch.arange(11, dtype=torch.uint8), 5)
    assert len(windows) == 2
    assert windows[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert windows[1].tolist() == [5, 6, 7, 8, 9, 10]
    assert windows[0].dtype == torch.int64


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 0), (5, 0), (6, 1), (10, 1), (11, 2)])
def test_a_window_needs_one_byte_more_than_its_length(size, expected):
    assert len(TextWindows(torch.zeros(size, dtype=torch.uint8), 5)) == expected


def test_every_20th_window_is_held_out():
    training, held_out = split_windows(45)
    assert held_out.tolist() == [19, 39]
    assert sorted([*training.tolist(), 19, 39]) == list(range(45))


def test_ranks_share_one_stream_without_overlap():
    alone = batches(4)
    shared = [batches(2, rank=rank, world_size=2) for rank in range(2)]
    assert [shared[0][0], shared[1][0], shared[0][1], shared[1][1]] == alone


def test_each_pass_has_every_window_once_in_another_order():
    stream = list(itertools.chain(*batches(5)))
    assert sorted(stream[:10]) == sorted(stream[10:]) == list(range(10))
    assert stream[:10] != stream[10:]


def test_a_resumed_stream_goes_on_where_it_stopped_even_with_other_ranks():
    assert batches(2, position=12) == batches(5)[3:]
    assert batches(1, position=4, rank=1, world_size=3) == [batches(3)[2]]


def test_the_seed_decides_the_order():
    other = StreamSampler(torch.arange(10), batch_size=4, seed=8)
    assert next(iter(other)) != batches(1)[0]
    assert batches(3) == batches(3)
