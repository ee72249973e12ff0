# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When batches are pinned. What a card's copies take is told here; the bridge was never asked."""

from __future__ import annotations

import pytest
import torch

from gaudi3_scale.trainer import pinned_memory
from gaudi3_scale.trainer.pinned_memory import measured_pinning, seconds_of


class Batch:
    """In place of a tensor whose bridge can pin, or cannot."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def pin_memory(self, device: str) -> Batch:
        assert device == "hpu"
        if self._error:
            raise self._error
        return self


@pytest.fixture
def told():
    lines: list[tuple[str, dict]] = []
    return lines, lambda kind, **fields: lines.append((kind, fields))


def test_it_is_measured_on_gaudi_alone(told):
    lines, write = told
    batch = torch.zeros(1)
    assert measured_pinning(batch, torch.device("cuda"), write) is True
    assert measured_pinning(batch, torch.device("cpu"), write) is False
    assert lines == []


@pytest.mark.parametrize(("pinned", "used"), [(50e-6, True), (99e-6, False), (200e-6, False)])
def test_it_is_used_where_it_is_faster(monkeypatch, told, pinned, used):
    lines, write = told
    seconds = iter([100e-6, pinned])
    monkeypatch.setattr(pinned_memory, "seconds_of", lambda *_: next(seconds))
    assert measured_pinning(Batch(), torch.device("hpu"), write) is used
    fields = {"used": used, "pageable_us": 100.0, "pinned_us": round(pinned * 1e6, 1)}
    assert lines == [("pinned_memory", fields)]


def test_a_bridge_that_cannot_pin_costs_nothing_but_a_line(told):
    lines, write = told
    assert measured_pinning(Batch(RuntimeError("cannot pin\nfor hpu")), torch.device("hpu"), write) is False
    assert lines == [("pinned_memory", {"used": False, "message": "cannot pin"})]


def test_the_fastest_copy_counts():
    assert 0 < seconds_of(torch.zeros(1 << 16), torch.device("cpu")) < 1
