# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm's lists of hosts as names. What both read was compared with `scontrol show hostnames` of 22.05.8."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.host_lists import expand


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", []),
        ("gaudi001", ["gaudi001"]),
        ("gaudi001,gaudi002,gaudi003", ["gaudi001", "gaudi002", "gaudi003"]),
        ("a,,b,", ["a", "b"]),
        ("a[01-03,7]", ["a01", "a02", "a03", "a7"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[99-101]", ["n99", "n100", "n101"]),
        ("rack[0-1][0-2]", ["rack00", "rack01", "rack02", "rack10", "rack11", "rack12"]),
        ("login[1-2],n3", ["login1", "login2", "n3"]),
        # slurm-gcp and ParallelCluster name nodes with dashes before the number.
        ("queue1-st-gaudi-[1-2]", ["queue1-st-gaudi-1", "queue1-st-gaudi-2"]),
        # Text behind a bracket, which 22.05 calls invalid.
        ("a[1,3-4]b,c", ["a1b", "a3b", "a4b", "c"]),
        ("n[1-2].example.com", ["n1.example.com", "n2.example.com"]),
        # Files of gres.conf(5) are written alike.
        ("/dev/accel/accel[0-1]", ["/dev/accel/accel0", "/dev/accel/accel1"]),
    ],
)
def test_a_list_is_its_names(expression: str, names: list[str]) -> None:
    assert expand(expression) == names


def test_several_brackets_and_text_behind_them() -> None:
    names = expand("n[1-3]r[01-04]-ib")
    assert len(names) == 12
    assert (names[0], names[3], names[4], names[-1]) == ("n1r01-ib", "n1r04-ib", "n2r01-ib", "n3r04-ib")


@pytest.mark.parametrize(
    "expression",
    [
        "a[3-1]",
        "a[1-",
        "a[x-y]",
        "a[]",
        "n[1x2]",
        "a]b",
        "a[1[2]",
        "a[1-2]b]",
        "a b",
        "a[1-100000]",
        "a[1-300]b[1-300]",
    ],
)
def test_what_is_not_understood_is_refused_and_never_a_name(expression: str) -> None:
    with pytest.raises(GaudiError, match="cannot be read: "):
        expand(expression)
