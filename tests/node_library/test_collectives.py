# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives: what each rank has to get, nccl-tests' definitions, and real ranks on gloo."""

from __future__ import annotations

import argparse

import pytest
import torch

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale.collectives.__main__ import DTYPES, measure_collectives
from gaudi3_scale.collectives.measurement import Measured
from gaudi3_scale.collectives.operations import COLLECTIVES, EXACT, Place
from gaudi3_scale.collectives.sizes import sizes_of, to_bytes
from gaudi3_scale.core._errors import GaudiError
from job_runs import read_lines

WORLDS = (1, 2, 3, 4, 7, 8)


def all_got(name: str, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the ranks of the collective would have, by the words of its definition."""
    world = len(inputs)
    parts = [list(given.chunk(world)) for given in inputs]
    if name == "all_reduce":
        return [sum(inputs)] * world
    if name == "all_gather":
        return [torch.cat(inputs)] * world
    if name == "reduce_scatter":
        return [sum(parts[source][rank] for source in range(world)) for rank in range(world)]
    if name == "all_to_all":
        return [torch.cat([parts[source][rank] for source in range(world)]) for rank in range(world)]
    return [inputs[0]] * world


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_each_rank_is_to_get_what_the_collective_says(name: str, world: int) -> None:
    collective = COLLECTIVES[name]
    places = [Place(rank, world, 13 * world) for rank in range(world)]
    got = all_got(name, [collective.inputs(place) for place in places])
    for place, tensor in zip(places, got):
        assert torch.equal(collective.expected(place), tensor)
        assert len(tensor) == collective.outputs(place)


@pytest.mark.parametrize("name", [name for name, one in COLLECTIVES.items() if not one.summed])
def test_no_rank_s_values_pass_for_another_s(name: str) -> None:
    """What came from the wrong rank, or lies at the wrong place, is seen."""
    collective, world = COLLECTIVES[name], 4
    given = [collective.inputs(Place(rank, world, 64 * world)) for rank in range(world)]
    for rank in range(1, world):
        assert not torch.equal(given[0], given[rank])
    assert not torch.equal(given[0], given[0].roll(1))


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_values_are_exact_in_their_type(dtype: torch.dtype) -> None:
    world = min(EXACT[dtype] // 2, 300)
    for collective in COLLECTIVES.values():
        expected = collective.expected(Place(world - 1, world, 127 * world))
        assert torch.equal(expected.to(dtype).float(), expected)


def test_bandwidths_are_those_of_nccl_tests() -> None:
    """Its doc/PERFORMANCE.md: 2(n-1)/n, (n-1)/n, (n-1)/n, (n-1)/n, 1."""
    factors = {name: one.factor(4) for name, one in COLLECTIVES.items()}
    expected = {"all_reduce": 1.5, "all_gather": 0.75, "reduce_scatter": 0.75, "all_to_all": 0.75, "broadcast": 1.0}
    assert factors == expected
    measured = Measured(size=4_000_000_000, seconds=2.0, repeats=3, factor=1.5)
    assert (measured.algbw, measured.busbw) == (2.0, 3.0)


@pytest.mark.parametrize(("text", "size"), [("8", 8), ("64K", 65536), ("1m", 1 << 20), ("2G", 2 << 30)])
def test_sizes_are_written_as_for_nccl_tests(text: str, size: int) -> None:
    assert to_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "3", "-4", "1.5M", "1T", "2000G", "9" * 40, "\uff11M"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size; write bytes from 4 to 1024G"):
        to_bytes(text)


def test_ranges() -> None:
    assert sizes_of(8, 100, 2) == [8, 16, 32, 64]
    assert sizes_of(8, 8, 1) == [8]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--min-bytes", "1M", "--max-bytes", "64K"], "--min-bytes is 1048576 and --max-bytes 65536; give a range"),
        (["--factor", "1"], "--factor is 1; give 2 or more"),
        (["--collectives", "all_reduce", "gossip"], "invalid choice: 'gossip'"),
        (["--bytes", "64Q"], "'64Q' is not a size"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_joined(arguments: list[str], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        measure_collectives(arguments)


def test_more_ranks_than_a_type_can_add_up_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": 0, "WORLD_SIZE": 256, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 8}.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(GaudiError, match="at most 128 ranks exactly, and these are 256; use --dtype float32"):
        measure_collectives(["--dtype", "bfloat16"])


def test_three_ranks_measure_and_check_all(tmp_path) -> None:
    options = ["--device", "cpu", "--bytes", "100", "64K", "--seconds", "0.05"]
    script = tmp_path / "measure.py"
    script.write_text("from gaudi3_scale.collectives.__main__ import main\nmain()\n")
    assert ends_of(start_script(tmp_path, script, *options, ranks=3)) == [0, 0, 0], said_in(tmp_path)
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert [(line["collective"], line["bytes"]) for line in lines] == [
        # A size that three ranks cannot share is made less, and said.
        (name, size)
        for name in COLLECTIVES
        for size in (96, 65532)
    ]
    assert all(line["seconds"] > 0 and line["repeats"] >= 3 for line in lines)
    assert {line["world_size"] for line in lines} == {3}


def test_a_size_beyond_the_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)

    def full(_elements: int, **_more: object) -> torch.Tensor:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(torch, "empty", full)
    try:
        with pytest.raises(GaudiError, match=r"all_gather of 40 bytes does not fit .* give a smaller --max-bytes"):
            measure_collectives(["--device", "cpu", "--collectives", "all_gather", "--bytes", "40"])
    finally:
        torch.distributed.destroy_process_group()


def test_a_wrong_value_names_the_rank_and_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda vector: vector[7].fill_(5.0))
    try:
        with pytest.raises(
            GaudiError, match="all_reduce over 1 ranks gave rank 0 1 wrong values of 10, the first at 7: 5"
        ):
            measure_collectives(["--device", "cpu", "--collectives", "all_reduce", "--bytes", "40"])
    finally:
        torch.distributed.destroy_process_group()
