# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Names that guides import, and that something else does: the import fails in words."""

from __future__ import annotations

import pytest

import gaudi3_scale
import gaudi3_scale.serving


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("OptimizedInferenceServer", "serving.yml"),
        ("IntelligentCachingSystem", "the role gaudi_serving sizes them"),
        ("batch_inference", "max_num_seqs"),
        ("optimize_for_inference", "TorchScript does not reach a Gaudi card"),
    ],
)
def test_a_name_of_a_guide_says_what_does_it(name: str, instead: str) -> None:
    for module in (gaudi3_scale, gaudi3_scale.serving):
        with pytest.raises(ImportError, match=instead) as refused:
            getattr(module, name)
        assert str(refused.value).startswith(f"gaudi3_scale has no {name}: ")
    with pytest.raises(ImportError, match=instead):
        exec(f"from gaudi3_scale.serving import {name}")


def test_what_nobody_has_heard_of_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        gaudi3_scale.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        gaudi3_scale.serving.Nonsense  # noqa: B018
