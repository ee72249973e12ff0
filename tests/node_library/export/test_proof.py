# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is written wrongly, or changes afterwards, is no model: the comparison finds it, and nothing is published."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export import built_in, publish
from gaudi3_scale.export.record import RECORD, require_as_recorded
from gaudi3_scale.export.shards import write_index
from gaudi3_scale.export.weights import same_bits

FLIPS = 100


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_weights_at_the_wrong_place_are_found_by_their_logits(trained, exported, tmp_path, monkeypatch):
    """Each name, shape and bit is right, as of a mapping with a mistake in it."""
    monkeypatch.setitem(built_in._NORMS, "ln_1", "perceptron_norm")
    monkeypatch.setitem(built_in._NORMS, "ln_2", "attention_norm")
    with pytest.raises(GaudiError, match="the exported model is another than the trained one: its logits differ by up"):
        exported(trained)
    assert not (tmp_path / "out").exists()


def test_a_bit_that_the_disk_has_changed_is_found(trained, exported, tmp_path, monkeypatch):
    def written(conversion, shards, directory):
        write_index(conversion, shards, directory)
        flip(directory / "model.safetensors", 8 * ((directory / "model.safetensors").stat().st_size - 1))

    monkeypatch.setattr(publish, "write_index", written)
    with pytest.raises(GaudiError, match="was read back with other bits than were written; check that disk"):
        exported(trained)
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    # The kept file is not what it was when it was written, so it is written anew.
    assert any(line.endswith("written") for line in exported(trained))


def test_one_flipped_bit_anywhere_is_found_afterwards(trained, exported, tmp_path):
    exported(trained)
    out = tmp_path / "out"
    require_as_recorded(out)
    drawn = random.Random(0)
    files = sorted(path for path in out.iterdir() if path.name != RECORD)
    for _turn in range(FLIPS):
        path = drawn.choice(files)
        bit = drawn.randrange(8 * path.stat().st_size)
        flip(path, bit)
        with pytest.raises(GaudiError, match=f"{path.name} has other bytes than were exported"):
            require_as_recorded(out)
        flip(path, bit)
    require_as_recorded(out)


def test_bits_are_compared_and_not_numbers():
    not_a_number = torch.tensor([float("nan"), 1.0])
    assert same_bits(not_a_number, not_a_number.clone())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.ones(2), torch.ones(2, dtype=torch.bfloat16))
    assert not same_bits(torch.ones(2), torch.ones(2, 1))
    assert same_bits(torch.ones(()), torch.ones(()))
    assert same_bits(torch.ones(2, 3).t(), torch.ones(3, 2))
