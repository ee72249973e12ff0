# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.cpus import cpus_text, parse_cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("3", {3}),
        ("0-3", {0, 1, 2, 3}),
        ("0-1,8,64-65", {0, 1, 8, 64, 65}),
    ],
)
def test_a_list_says_which_processors_and_the_processors_make_the_list(text, cpus):
    assert parse_cpus(f"{text}\n") == cpus
    assert cpus_text(cpus) == text


def test_neighbors_are_one_range_whatever_their_order():
    assert cpus_text([66, 0, 65, 2, 1]) == "0-2,65-66"
