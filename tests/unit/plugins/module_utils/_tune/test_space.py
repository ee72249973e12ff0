# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._tune.space import Choices, Range, flag_sets, flags_from, space_from


def names(space):
    return [one.name for one in space]


def test_what_does_not_move_the_objective_is_left_out_by_default():
    assert "learning_rate" not in names(space_from({}, "throughput", True))
    assert names(space_from({}, "loss", True)) == ["batch_size", "accumulation", "learning_rate"]


def test_what_is_given_replaces_a_default_and_null_leaves_it_out():
    space = space_from({"workers": [8], "compile": None}, "throughput", True)
    assert Choices("workers", (8,)) in space
    assert "compile" not in names(space)


def test_one_value_holds_a_parameter_fixed():
    assert Choices("batch_size", (32,)) in space_from({"batch_size": 32}, "throughput", True)


def test_a_range_of_whole_numbers_and_one_of_real_numbers():
    space = space_from({"batch_size": {"low": 8, "high": 64, "step": 8}}, "loss", True)
    assert Range("batch_size", 8, 64, True, 8, False) in space
    # YAML 1.1, which Ansible reads, has 1e-4 as a text.
    assert Range("x", 1e-4, 1.0, False, None, True) in space_from(
        {"x": {"low": "1e-4", "high": 1, "log": True}}, "loss", False
    )


def test_without_a_high_end_a_batch_goes_as_far_as_it_fits():
    assert Range("batch_size", 8, None, True, 8, False) in space_from({}, "throughput", True)


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({"batch_size": {"low": 64, "high": 8}}, "begins at 64 and ends at 8; swap low and high"),
        (
            {"batchsize": [8]},
            "gaudi_tune_space.batchsize is not a parameter of the built-in trainer; use batch_size, ",
        ),
        ({"batch_size": {"low": 0, "high": 8}}, "batch_size.low is 0; give a whole number of at least 1"),
        ({"batch_size": {"low": 8, "hihg": 9}}, "has 'hihg'; a range has low, high, step, log"),
        ({"batch_size": [8, 8]}, "lists 8 twice"),
        ({"batch_size": [True]}, "has True; give a whole number"),
        ({"batch_size": [8.5]}, "has 8.5; give a whole number"),
        ({"batch_size": []}, "has no choices"),
        ({"accumulation": {"low": 1}}, "accumulation has no high; give both ends"),
        ({"accumulation": {"low": 1, "high": 8, "step": 0}}, "step is 0; give a whole number above 0"),
        ({"accumulation": {"low": "one", "high": 8}}, "low is 'one'; give a number"),
        ({"compile": {"low": 0, "high": 1}}, "it is a switch, so list the choices"),
        ({"compile": ["yes"]}, "has 'yes'; give true or false"),
        (
            {"learning_rate": [1e-4]},
            "does not change the speed; leave it out, or set gaudi_tune_objective loss",
        ),
        ([8], "gaudi_tune_space is [8]; give a mapping"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_remedy(space, sentence):
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        space_from(space, "throughput", True)


def test_a_logarithmic_range_begins_above_zero():
    with pytest.raises(GaudiError, match=r"x.low is 0; a logarithmic range begins above 0"):
        space_from({"x": {"low": 0, "high": 1, "log": True}}, "loss", False)


def test_each_value_of_each_flag_is_judged_once():
    flags = flags_from({"A": ["1", None], "B": [True, 2, "x"]})
    assert flags == (Choices("A", ("1", None)), Choices("B", ("true", "2", "x")))
    assert flag_sets(flags) == [{"A": "1", "B": "true"}, {"B": "2"}, {"B": "x"}]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"A": "1"}, "gaudi_tune_flags.A is '1'; give a list"),
        ({"A": []}, "gaudi_tune_flags.A is []; give a list"),
        ({"A": [[1]]}, "gaudi_tune_flags.A has [1]; give texts"),
        ({"A B": ["1"]}, "'A B', which is not the name of a variable"),
        ({"A": ["1", 1]}, "lists '1' twice"),
    ],
)
def test_flags_that_cannot_be_meant(flags, sentence):
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        flags_from(flags)
