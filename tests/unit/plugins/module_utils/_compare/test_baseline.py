# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.baseline import (
    changes,
    check_same,
    read_baseline,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

FIELDS = {"workload": "m:f", "device": "hpu", "driver": "1.24.1"}
SETTINGS = {
    "base": {"flags": {}, "options": {"width": 8}, "batch_size": 4},
    "a": {"flags": {"X": "1"}, "options": {"width": 8}, "batch_size": 4},
}
RATES = {"base": [100.0, 101.0, 99.0, 100.0], "a": [110.0, 111.0, 109.0, 110.0]}


def kept(tolerance=0.05, node="n1", **parts):
    data = {"hosts": {"n1": {"fields": FIELDS, "settings": SETTINGS, "rates": RATES, **parts}}}
    return read_baseline(json.dumps(data), "/x/base.json", node, tolerance)


def test_what_is_slower_beyond_tolerance_and_noise_is_a_regression():
    found = {one.name: one for one in changes(kept(), {"base": [90.0, 91.0, 89.0], "a": [110.0, 108.0, 111.0]}, 0.95)}
    assert found["base"].slower
    assert not found["a"].slower
    sentence = found["base"].sentence("/x/base.json")
    assert sentence.startswith("base is 10.0% slower than in /x/base.json (97.5% interval ")


def test_a_loss_of_speed_within_the_tolerance_is_none():
    slower = {"base": [96.0, 96.5, 95.8, 96.1]}
    assert not changes(kept(), slower, 0.95)[0].slower
    assert changes(kept(tolerance=0.02), slower, 0.95)[0].slower


def test_what_noise_explains_is_no_regression():
    assert not changes(kept(), {"base": [60.0, 120.0, 95.0]}, 0.95)[0].slower


@pytest.mark.parametrize(
    ("fields", "settings", "sentence"),
    [
        ({"device": "cpu"}, {}, "made with device hpu, and this run has cpu"),
        ({"driver": "1.25.0"}, {}, "made with driver 1.24.1, and this run has 1.25.0"),
        ({"workload": "m:g"}, {}, "made with workload m:f, and this run has m:g"),
        ({"cards": "8"}, {}, "made with cards nothing, and this run has 8"),
        ({}, {"base": {**SETTINGS["base"], "batch_size": 8}}, "made with batch_size of base 4, and this run has 8"),
        ({}, {"a": {**SETTINGS["a"], "flags": {}}}, "made with flags of a {'X': '1'}, and this run has nothing"),
    ],
)
def test_a_baseline_of_another_question_is_refused_by_name(fields, settings, sentence):
    with pytest.raises(GaudiError, match=r"^baseline: /x/base.json was ") as error:
        check_same(kept(), {**FIELDS, **fields}, {**SETTINGS, **settings})
    assert sentence in str(error.value)


def test_other_settings_beside_those_of_the_baseline_are_no_other_question():
    check_same(kept(), FIELDS, {"base": SETTINGS["base"], "new": {"flags": {}, "options": {}, "batch_size": 1}})


@pytest.mark.parametrize("content", ["", "{", "[]", '{"hosts": {"n1": {}}}', '{"hosts": {"n1": 3}}', "null"])
def test_a_file_that_is_no_baseline_is_named(content):
    with pytest.raises(GaudiError, match="/x/f is not a baseline"):
        read_baseline(content, "/x/f", "n1", 0.05)


def test_a_node_that_the_baseline_has_not_is_named():
    with pytest.raises(GaudiError, match=r"/x/base.json has n1 but not n2; save a baseline with n2 too"):
        kept(node="n2")
