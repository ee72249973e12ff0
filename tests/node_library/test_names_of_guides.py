# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Names that guides import, and that something else does: the import fails in words."""

from __future__ import annotations

import importlib

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
        ("GaudiTrainer", "`python -m gaudi3_scale.fine_tune` is its commonest programs"),
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


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("distributed", "OptimizedDDP", "use GaudiDDPStrategy of gaudi3_scale"),
        ("memory", "MemoryOptimizer", "`gaudi3_scale estimate` says what fits"),
        ("memory", "AdvancedMemoryManager", "--checkpointing and --sharding fsdp2 make it fit"),
        ("monitoring", "PerformanceMonitor", "report_step tells a job's page and Prometheus of each step"),
        ("precision", "FP8Precision", "no release in the table of gaudi3.scale has a documented interface"),
    ],
)
def test_so_it_does_in_the_module_that_the_guide_names(module: str, name: str, instead: str) -> None:
    for statement in (f"from gaudi3_scale.{module} import {name}", f"from gaudi3_scale import {name}"):
        with pytest.raises(ImportError, match=instead) as refused:
            exec(statement)
        assert str(refused.value).startswith(f"gaudi3_scale has no {name}: ")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec(f"from gaudi3_scale.{module} import Nonsense")


@pytest.mark.parametrize("name", ["BatchOptimizer", "AutoTuner"])
def test_what_guides_import_from_the_top(name: str) -> None:
    with pytest.raises(ImportError, match=rf"gaudi3_scale has no {name}: \w+\.yml"):
        getattr(gaudi3_scale, name)


def test_the_class_that_is_ours_is_where_the_guide_has_it() -> None:
    precision = importlib.import_module("gaudi3_scale.precision")
    assert precision.GaudiMixedPrecision is gaudi3_scale.GaudiMixedPrecision
    with pytest.raises(ValueError, match="FP8 that could be verified; use bf16"):
        precision.GaudiMixedPrecision("fp8")
