# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.batch.quiet import is_quiet


@pytest.mark.parametrize(
    ("peaks", "quiet"),
    [
        ([500], False),
        ([500, 501], True),
        # The optimizer's state came with the second step.
        ([500, 600], False),
        ([500, 600, 599], True),
        ([600, 500, 500], False),
        ([600, 500, 520, 490], True),
        ([500, 600, 520, 490], False),
        ([500, 600, 520, 490, 510], True),
    ],
)
def test_when_further_steps_would_tell_nothing_new(peaks, quiet):
    assert is_quiet(peaks, 1000) == quiet


def test_without_a_limit_the_peak_is_the_measure():
    assert not is_quiet([100, 101], None)
    assert is_quiet([1000, 1001], None)
