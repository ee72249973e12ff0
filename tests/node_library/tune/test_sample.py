# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.tune import bound as tune_bound
from gaudi3_scale.tune.bound import ProbedBound, wanted_probe
from gaudi3_scale.tune.sample import CannotFitError, refused_flags, sample, setup_of
from studies import optuna_study, small_study

PROBE = {
    "workload": "gaudi3_scale.workloads:causal_language_model",
    "options": {"layers": 2},
    "maximum": 96,
    "multiple_of": 8,
    "steps": 3,
    "memory_limit": "100MiB",
    "environment_files": [],
}


def unbounded(params, flags):
    return None


def sampled(study, bound=unbounded, earlier=(), trials=20):
    found = optuna_study()
    return [sample(study, found.ask(), earlier, bound) for _ in range(trials)]


def test_the_batch_never_exceeds_what_fits_with_the_other_values():
    def bound(params, flags):
        return {1: 40, 2: 20}[params["accumulation"]]

    samples = sampled(small_study(), bound)
    assert {one.params["accumulation"] for one in samples} == {1, 2}
    for one in samples:
        assert one.params["batch_size"] <= (40 if one.params["accumulation"] == 1 else 16)
        assert one.params["batch_size"] % 8 == 0


def test_a_budget_of_tokens_bounds_the_batch_too():
    study = small_study(objective="loss", steps=None, tokens=10 * 24 * 16 * 2)
    assert {one.params["batch_size"] for one in sampled(study) if one.params["accumulation"] == 2} <= {8, 16, 24}


def test_where_not_even_the_smallest_fits_nothing_is_run():
    with pytest.raises(CannotFitError, match="batch size 8 is more than the 4 that fit"):
        sampled(small_study(), lambda params, flags: 4)
    with pytest.raises(CannotFitError, match="batch size 32 is more than the 4 that fit"):
        sampled(small_study(space={"batch_size": 32}), lambda params, flags: 4)


def test_a_flag_that_is_not_set_is_in_no_environment():
    samples = sampled(small_study(flags={"PT_HPU_X": ["1", None]}))
    assert {tuple(one.flags.items()) for one in samples} == {(("PT_HPU_X", "1"),), ()}


def test_memory_is_asked_for_once_for_each_setup_that_decides_about_it():
    study = small_study(space={"batch_size": [8], "accumulation": [1, 2, 8], "checkpointing": [False, True]})
    setups = {
        setup_of(study, {"accumulation": a, "checkpointing": False, "workers": w}, {}) for a in (2, 8) for w in (0, 4)
    }
    assert len(setups) == 1
    assert setup_of(study, {"accumulation": 1, "checkpointing": False}, {}) not in setups
    assert setup_of(study, {"accumulation": 2, "checkpointing": True}, {}) not in setups
    assert setup_of(study, {"accumulation": 2, "checkpointing": False}, {"PT_HPU_X": "1"}) not in setups


def test_the_probe_is_asked_what_the_trial_will_run():
    study = small_study(
        probe=PROBE, processes=8, space={"batch_size": {"low": 8, "step": 8}, "checkpointing": [False, True]}
    )
    wanted = wanted_probe(study, {"accumulation": 4, "checkpointing": True, "workers": 2}, ("/e",))
    assert wanted.workload.options == {"layers": 2, "accumulation": 2, "checkpointing": True, "sharding": "ddp"}
    assert (wanted.workload.processes, wanted.workload.memory_limit) == (8, 100 << 20)
    assert (wanted.maximum, wanted.multiple_of, wanted.venv) == (96, 8, sys.prefix)
    assert wanted.environment_files == ("/e",)


def test_the_probe_is_asked_once_for_a_setup(monkeypatch):
    answers = [48]
    monkeypatch.setattr(tune_bound, "probe", lambda wanted: {"batch_size": answers.pop(0)})
    shown = []
    bound = ProbedBound(small_study(probe=PROBE), lambda kind, **fields: shown.append(fields))
    assert [bound({"accumulation": a, "workers": 2}, {"PT_HPU_X": "1"}) for a in (2, 4)] == [48, 48]
    assert shown == [{"fits": 48, "accumulation": 2, "PT_HPU_X": "1"}]


def test_the_flags_of_a_trial_are_in_the_environment_of_its_probe(monkeypatch):
    seen = []

    def probe(wanted):
        seen.append(Path(wanted.environment_files[0]).read_text())
        return {"batch_size": 8}

    monkeypatch.setattr(tune_bound, "probe", probe)
    ProbedBound(small_study(probe=PROBE, environment={"A": "b c"}), lambda kind, **fields: None)({}, {"PT_HPU_X": "1"})
    assert seen == ['A="b c"\nPT_HPU_X=1\n']


def test_a_setup_that_fits_nowhere_is_told_as_the_probe_tells_it(monkeypatch):
    def probe(wanted):
        raise GaudiError("The model needs 3 GiB more than the card has.")

    monkeypatch.setattr(tune_bound, "probe", probe)
    bound = ProbedBound(small_study(probe=PROBE), lambda kind, **fields: None)
    with pytest.raises(CannotFitError, match="3 GiB more"):
        bound({}, {})


def test_flags_that_cannot_be_set_together_are_refused():
    assert refused_flags({}, "/nowhere") == ""
    assert refused_flags({"PT_HPU_POOL_STRATEGY": "0"}, "/nowhere") == ""
    assert "ends" in refused_flags({"PT_HPU_POOL_STRATEGY": "OPTIMIZE_UTILIZATION"}, "/nowhere")


def test_a_setup_is_a_text_that_a_storage_can_keep():
    (one,) = sampled(small_study(), trials=1)
    assert json.loads(one.setup)[1] == {}
