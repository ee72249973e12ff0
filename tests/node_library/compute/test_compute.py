# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Products that have one right answer, memory that keeps what is written, and what ranks tell of their cards."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale.compute.exact import SIDE, wrong_elements
from gaudi3_scale.compute.memory import wrong_words
from gaudi3_scale.compute.rates import copy_gb_per_s, matmul_tflops
from job_runs import read_lines

CPU = torch.device("cpu")
QUICK = ["--device", "cpu", "--side", "128", "--copy-mib", "1", "--seconds", "0.02", "--products", "1"]
SCRIPT = "from gaudi3_scale.compute.__main__ import main\nmain()\n"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_right_product_is_right_to_the_last_bit(dtype: torch.dtype) -> None:
    assert all(wrong_elements(CPU, dtype, seed) is None for seed in range(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_wrong_element_is_found_with_its_place(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    right = torch.matmul

    def one_off(left: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        product = right(left, other)
        product[5, 7] += 1
        return product

    monkeypatch.setattr(torch, "matmul", one_off)
    wrong = wrong_elements(CPU, dtype, 0)
    assert wrong is not None
    assert (wrong.count, wrong.of, wrong.row, wrong.column) == (1, SIDE * SIDE, 5, 7)
    assert wrong.got == wrong.expected + 1


def test_rates_are_those_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes a second by this clock."""
    ticks = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    calls = 3
    assert matmul_tflops(CPU, 100, 1.0) == pytest.approx(calls * 2e6 / 1e12)
    assert copy_gb_per_s(CPU, 4000, 1.0) == pytest.approx(calls * 8000 / 1e9)


def test_memory_that_loses_a_bit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_words(CPU, 1 << 16) == 0
    fill = torch.Tensor.fill_

    def lossy(tensor: torch.Tensor, value: int) -> torch.Tensor:
        filled = fill(tensor, value)
        filled[3] = 1
        return filled

    monkeypatch.setattr(torch.Tensor, "fill_", lossy)
    assert wrong_words(CPU, 1 << 16) == 4


def test_a_wrong_card_is_told_with_the_figures_of_all(tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text(
        "import os, torch\nright = torch.matmul\n"
        "if os.environ['LOCAL_RANK'] == '1':\n    torch.matmul = lambda *two: right(*two) + 1\n" + SCRIPT
    )
    ends = ends_of(start_script(tmp_path, script, *QUICK, ranks=2))
    assert (ends[0], ends[1] != 0) == (0, True), said_in(tmp_path)
    (line,) = [line for line in read_lines(tmp_path / "metrics.jsonl") if line["kind"] == "compute"]
    assert [rank["wrong"] for rank in line["ranks"]] == [0.0, 2.0]
    assert all(rank["matmul_tflops"] > 0 and rank["copy_gb_per_s"] > 0 for rank in line["ranks"])
    assert "the card of rank 1 computes wrongly: 1048576 of 1048576 elements" in said_in(tmp_path)
