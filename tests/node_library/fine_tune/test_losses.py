# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of optimum-habana that the page replaces: 50 losses and the weights are those of upstream alone."""

import pytest

from benchmarks.fine_tuned.cases import CASES, play

# What an answer needs to be right in is the most; the others have their turn.
EACH_RUN = ("run_clm.py", "run_qa.py")
ROWS = [
    pytest.param(case, id=case.program, marks=() if case.program in EACH_RUN else pytest.mark.in_turn) for case in CASES
]


@pytest.mark.parametrize("case", ROWS)
def test_it_trains_as_upstream_alone_does(parts, tmp_path, case):
    for name in case.needs:
        pytest.importorskip(name)
    outcome = play(case, parts / "models", parts / "data", tmp_path)
    assert len(outcome.ours) == 50
    assert outcome.ours == outcome.alone
    assert outcome.same_weights
    # Nothing is proved by a training that does not train.
    assert min(outcome.ours) < outcome.ours[0]
