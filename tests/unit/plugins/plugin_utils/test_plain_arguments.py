# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._plain_arguments import NOT_PLAIN, plain_argument


@pytest.mark.parametrize("value", ["1.24.1", "", 8, 0.5, True, None, [], ["a", 1], {"a": {"b": [None]}}, "a } b { c"])
def test_a_name_stands_for_what_needs_no_template(value):
    assert plain_argument("{{ cards }}", {"cards": value}) is value


@pytest.mark.parametrize(
    "value",
    ["{{ other }}", ["a", "{% if a %}"], {"a": ["{{ other }}"]}, {"{{ key }}": 1}, "{# no #}", object(), {1, 2}],
)
def test_what_needs_one_is_left_to_ansible(value):
    assert plain_argument("{{ cards }}", {"cards": value}) is NOT_PLAIN


@pytest.mark.parametrize(
    "argument",
    ["cards", "{{ cards | int }}", "{{cards}}", "{{ cards }} ", "{{ cards.one }}", "{{ other }}", "{{ 8 }}", 8, None],
)
def test_so_is_all_that_does_more_than_name_a_variable(argument):
    assert plain_argument(argument, {"cards": "8"}) is NOT_PLAIN
