# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from gaudi3_scale.data.shuffle import shuffled
from gaudi3_scale.data.token_windows import (
    HeldOutWindows,
    MappedTokens,
    StreamSampler,
    TokenWindows,
    TrainingWindows,
)


def batches(count, **options):
    sampler = StreamSampler(10, batch_size=4, **{"seed": 7, **options})
    return list(itertools.islice(sampler, count))


def first_tokens(windows, numbers):
    return windows[numbers][:, 0].tolist()


def mapped(directory: Path, tokens: np.ndarray) -> MappedTokens:
    tokens.astype("<u2").tofile(directory / "tokens.bin")
    return MappedTokens(directory / "tokens.bin", "<u2", len(tokens))


def test_windows_overlap_by_the_token_that_is_only_predicted():
    windows = TokenWindows(np.arange(11, dtype=np.uint8), 5)
    assert len(windows) == 2
    assert windows[[1, 0]].tolist() == [[5, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5]]
    assert windows[[0]].dtype == torch.int64


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 0), (5, 0), (6, 1), (10, 1), (11, 2)])
def test_a_window_needs_one_token_more_than_its_length(size, expected):
    assert len(TokenWindows(np.zeros(size, np.uint8), 5)) == expected


def test_a_file_is_one_row_of_tokens(tmp_path):
    tokens = np.arange(60_000, 60_040)
    found = mapped(tmp_path, tokens)
    assert len(found) == 40
    for start in range(40):
        for count in range(1, 41 - start):
            assert found[start : start + count].tolist() == tokens[start : start + count].tolist()


def test_another_process_maps_the_file_itself(tmp_path):
    pickled = pickle.dumps(mapped(tmp_path, np.arange(100_000)))
    assert len(pickled) < 1000
    assert pickle.loads(pickled)[65_535:65_537].tolist() == [65_535, 0]


def test_a_batch_out_of_a_terabyte_takes_no_memory(tmp_path):
    """The file is sparse: what would be read too much would be zeros, but in memory."""
    file = tmp_path / "tokens.bin"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
        stream.seek(1 << 39)
        stream.write(np.arange(1, 9, dtype="<u2").tobytes())
    windows = TrainingWindows(TokenWindows(MappedTokens(file, "<u2", 1 << 39), 4))
    before = private_bytes()
    sampler = StreamSampler(len(windows), batch_size=32, seed=0, position=len(windows) - 16)
    for numbers in itertools.islice(sampler, 2):
        assert windows[numbers].shape == (32, 5)
    assert private_bytes() - before < 16 << 20
    assert windows._windows[[1 << 36]].tolist() == [[1, 2, 3, 4, 5]]


def private_bytes() -> int:
    """What belongs to this process alone, without pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def test_every_20th_window_is_held_out():
    windows = TokenWindows(np.arange(46, dtype=np.uint8), 1)
    training, held_out = TrainingWindows(windows), HeldOutWindows(windows)
    assert first_tokens(held_out, range(len(held_out))) == [19, 39]
    assert first_tokens(training, range(len(training))) == [number for number in range(45) if number not in (19, 39)]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 64, 65, 1000])
def test_a_pass_has_every_sample_once(count):
    stream = shuffled(np.arange(3 * count), count, seed=3).reshape(3, count)
    assert np.array_equal(np.sort(stream), np.tile(np.arange(count), (3, 1)))


def test_an_order_tells_nothing_about_its_places():
    """Neither where a sample stands nor what stands beside it; the bounds are four standard deviations."""
    one, other = shuffled(np.arange(20_000), 10_000, seed=1).reshape(2, -1)
    pairs = [(one, np.arange(10_000)), (one[1:], one[:-1]), (one, other), (one, shuffled(np.arange(10_000), 10_000, 2))]
    assert all(abs(np.corrcoef(a, b)[0, 1]) < 0.04 for a, b in pairs)
    first = [int(shuffled(np.zeros(1, np.int64), 10, seed)[0]) for seed in range(1000)]
    assert np.square(np.bincount(first, minlength=10) - 100).sum() / 100 < 33.7, "chi square, 9 degrees, one in 10,000"


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
    assert batches(1, seed=8) != batches(1)
    assert batches(3) == batches(3)
