# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.all_reduce import bus_bandwidth, expected_sum
from job_runs import end_of, read_lines, torchrun


@pytest.mark.parametrize(("world_size", "expected"), [(1, 1), (2, 3), (16, 136)])
def test_ranks_from_one_on_are_summed(world_size, expected):
    assert expected_sum(world_size) == expected


def test_bus_bandwidth_is_what_each_link_carries():
    assert bus_bandwidth(4_000_000_000, 2.0, 2) == 2.0
    assert bus_bandwidth(4_000_000_000, 2.0, 8) == 3.5
    assert bus_bandwidth(4_000_000_000, 2.0, 1) == 0


def test_two_processes_reduce_and_check(tmp_path):
    status, output = end_of(torchrun(tmp_path, "-m", "gaudi3_scale.all_reduce", "--device", "cpu", "--elements", 1000))
    assert status == 0, output
    (line,) = read_lines(tmp_path / "metrics.jsonl")
    assert (line["kind"], line["world_size"], line["sum"], line["expected"]) == ("all_reduce", 2, 3.0, 3.0)
    assert line["seconds"] > 0
    assert line["busbw_gb_per_s"] > 0


def test_a_wrong_sum_fails_the_rank(monkeypatch):
    import torch.distributed

    from gaudi3_scale.all_reduce import check_all_reduce
    from gaudi3_scale.core._errors import GaudiError

    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda vector: vector[7].fill_(5.0))
    try:
        with pytest.raises(GaudiError, match="gave rank 0 sums from 1 to 5 instead of 1; check the links"):
            check_all_reduce(["--device", "cpu", "--elements", "10", "--repeats", "1"])
    finally:
        torch.distributed.destroy_process_group()
