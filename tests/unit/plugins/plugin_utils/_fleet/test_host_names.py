# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.host_lists import expand
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.host_names import compact, in_order, shortened
from hypothesis import given
from hypothesis import strategies as some


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["node1"], "node1"),
        (["login"], "login"),
        ([f"node{number:02}" for number in (*range(1, 13), 15)], "node[01-12,15]"),
        (["n9", "n10", "n11", "n2"], "n[2,9-11]"),
        # Of two names for the same number each stays.
        (["n9", "n09", "n10"], "n[09,9-10]"),
        (["gaudi-01.lab2", "gaudi-02.lab2"], "gaudi-[01-02].lab2"),
        # Of two numbers that vary the last one is folded.
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["10.0.0.7", "10.0.0.8"], "10.0.0.[7-8]"),
        (["b1", "a1", "a2", "login"], "a[1-2],b1,login"),
        (["n1", "n1"], "n1"),
        ([f"n{'9' * 5000}"], f"n{'9' * 5000}"),
    ],
)
def test_names_that_differ_in_a_number_are_one_word(names: list[str], folded: str) -> None:
    assert compact(names) == folded


@given(some.sets(some.from_regex(r"[a-z]{1,3}[0-9]{1,4}(-ib|r[0-9]{1,2})?", fullmatch=True), max_size=30))
def test_slurm_reads_the_same_names_out_of_it(names: set[str]) -> None:
    assert sorted(expand(compact(names))) == sorted(names)


@pytest.mark.parametrize("width", [11, 18, 40, 79])
def test_what_is_too_long_ends_after_a_whole_number(width: int) -> None:
    folded = compact(f"node{number:03}" for number in range(0, 512, 3))
    short = shortened(folded, width)
    assert len(short) <= width
    assert re.fullmatch(r"node\[(\d{3},)+…\]", short)


def test_what_fits_stays() -> None:
    assert shortened("node[01-12]", 11) == "node[01-12]"


def test_what_hosts_said_comes_by_their_numbers() -> None:
    assert in_order({"b": ["n10"], "a": ["n9", "n2"], "c": ["n3"]}) == [
        ("a", ["n9", "n2"]),
        ("c", ["n3"]),
        ("b", ["n10"]),
    ]
