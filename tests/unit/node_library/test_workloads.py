# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch
from gaudi3_scale.core.errors import GaudiError

from gaudi3_scale.language_model import ByteLanguageModel, ModelShape
from gaudi3_scale.workloads import causal_language_model

TINY = {"layers": 1, "width": 16, "heads": 2, "sequence_length": 8}


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_workload_gives_a_step_that_can_be_repeated(precision):
    step = causal_language_model(batch_size=2, device=torch.device("cpu"), precision=precision, **TINY)
    assert [step(), step()] == [None, None]


def test_options_that_cannot_be_are_refused():
    with pytest.raises(GaudiError, match="precision fp8: choose bf16 or fp32"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), precision="fp8", **TINY)
    with pytest.raises(GaudiError, match="width 16 is not a multiple of heads 3"):
        causal_language_model(batch_size=2, device=torch.device("cpu"), **{**TINY, "heads": 3})


def test_a_prediction_depends_on_what_came_before_alone():
    torch.manual_seed(0)
    model = ByteLanguageModel(ModelShape(**TINY)).eval()
    one = torch.randint(256, (1, 8))
    other = one.clone()
    other[0, 5] += 1
    with torch.no_grad():
        first, second = model(one)[0], model(other)[0]
    torch.testing.assert_close(first[:5], second[:5])
    assert not torch.allclose(first[5:], second[5:])
