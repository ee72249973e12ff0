# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.variables import variables_from


def test_texts_and_numbers_are_taken():
    given = {"A": "true", "B": 3, "C": 0.5, "D": "", 5: "x", "E": "a=b c"}
    assert variables_from("environment", given) == {"A": "true", "B": "3", "C": "0.5", "D": "", "5": "x", "E": "a=b c"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            True,
            'MINE is true without quotes, as YAML reads true, yes or on; quote .* as MINE: "true" or MINE: "1"',
        ),
        (False, 'MINE is false without quotes, .* as MINE: "false" or MINE: "0"'),
        (None, 'MINE has no value; give "" for an empty one, or remove it'),
        ([1], "MINE is a list, but a variable is text; quote it"),
        ({"a": 1}, "MINE is a mapping, but a variable is text; quote it"),
    ],
)
def test_what_yaml_has_made_of_a_text_is_refused_with_the_variable_and_what_to_write(value, said):
    with pytest.raises(GaudiError, match=rf"^gaudi_training_environment: {said}\.$"):
        variables_from("gaudi_training_environment", {"OTHER": "1", "MINE": value})
