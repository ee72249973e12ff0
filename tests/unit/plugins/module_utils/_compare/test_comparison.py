# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import (
    BASE,
    Setting,
    check,
    read_setting,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.compared import comparison_of


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"settings": []}, "settings is empty"),
        ({"settings": [Setting("a", batch_size=2), Setting("a", batch_size=4)]}, "the name 'a' twice"),
        ({"settings": [Setting("base", batch_size=2)]}, "the name 'base'"),
        ({"settings": [Setting("a")]}, "a changes nothing"),
        ({"base": Setting(BASE)}, "base has no batch_size"),
        ({"rounds": 2}, "rounds is 2; give at least 3"),
        ({"confidence": 1.0}, "confidence is 1; give a fraction above 0 and below 1"),
        ({"precision": 0.0}, "precision is 0;"),
        ({"loss_tolerance": -1.0}, "loss_tolerance is -1;"),
        ({"workload": Workload("module", device="cpu")}, "workload is 'module'; give module:function."),
        ({"workload": Workload("m:f", steps=0)}, "steps is 0; give at least 1."),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(changes, sentence):
    with pytest.raises(GaudiError) as error:
        check(comparison_of(**changes))
    assert sentence in str(error.value)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"batch_size": 4}, "name is ''"),
        ({"name": "a", "bach_size": 4}, "a has 'bach_size'; give flags, options and batch_size."),
        ({"name": "a", "flags": ["X=1"]}, "flags of a is ['X=1']; give a mapping of names to values."),
        ({"name": "a", "batch_size": "many"}, "batch_size of a is 'many'"),
        ({"name": "a", "batch_size": 0}, "batch_size of a is 0"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named(given, sentence):
    with pytest.raises(GaudiError) as error:
        read_setting(given)
    assert sentence in str(error.value)


def test_flags_are_texts_as_a_process_has_them_and_null_takes_one_away():
    setting = read_setting({"name": "a", "flags": {"ON": True, "N": 4, "GONE": None}})
    assert setting.flags == {"ON": "true", "N": "4", "GONE": None}


def test_a_setting_is_the_base_with_its_changes():
    comparison = comparison_of(
        base=Setting(BASE, {"A": "1"}, {"depth": 2}, 4),
        settings=[Setting("a", {"B": "2"}, {"depth": 3}, 8)],
    )
    assert comparison.of("a") == Setting("a", {"A": "1", "B": "2"}, {"width": 8, "depth": 3}, 8)
    assert comparison.workload_of(BASE).options == {"width": 8, "depth": 2}


def test_more_settings_and_looks_need_a_higher_level_each():
    assert comparison_of("a", rounds=4).level == pytest.approx(0.95)
    assert comparison_of("a", rounds=10).level == pytest.approx(0.975)
    assert comparison_of("a", "b", "c", "d", "e", rounds=10).level == pytest.approx(0.995)
