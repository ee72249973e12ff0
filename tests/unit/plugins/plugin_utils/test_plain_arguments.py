# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._plain_arguments import (
    NOT_PLAIN,
    OMITTED,
    plain_argument,
    plain_value,
)
from ansible_collections.gaudi3.scale.tests.unit.template_engine import LEFT_OUT, filled_in, is_trusted, trusted
from ansible_collections.gaudi3.scale.tests.unit.template_engine import is_same as is_same_value

OMIT = "{{ gaudi_key | default(omit, true) }}"


def plain(argument, variables):
    return plain_argument(argument, variables, lambda _text: True)


@pytest.mark.parametrize("value", ["1.24.1", "", 8, 0.5, True, None, [], ["a", 1], {"a": {"b": [None]}}, "a } b { c"])
def test_a_name_stands_for_what_needs_no_template(value):
    assert plain("{{ cards }}", {"cards": value}) is value


@pytest.mark.parametrize(
    "value",
    [
        "{{ other | int }}",
        "{{ missing }}",
        ["a", "{% if a %}"],
        {"a": ["{{ other }}"]},
        {"{{ key }}": 1},
        "{# no #}",
        object(),
        {1},
    ],
)
def test_what_needs_one_is_left_to_ansible(value):
    assert plain("{{ cards }}", {"cards": value, "other": "8"}) is NOT_PLAIN


@pytest.mark.parametrize(
    "argument",
    [
        "cards",
        "{{ cards | int }}",
        "{{cards}}",
        "{{ cards }}{% if a %}",
        "{{ cards.one }}",
        "{{ other }}",
        "{{ 8 }}",
        8,
        None,
    ],
)
def test_so_is_all_that_does_more_than_look_a_variable_up(argument):
    assert plain(argument, {"cards": "8"}) is NOT_PLAIN


def test_a_variable_that_refers_to_itself_is_ansible_s_to_tell_of():
    assert plain("{{ a }}", {"a": "{{ b }}", "b": "{{ a }}"}) is NOT_PLAIN


def test_what_a_node_has_said_is_no_template():
    said = "{{ secret }}"
    assert plain_argument("{{ fact }}", {"fact": said, "secret": "x"}, lambda text: text is not said) is NOT_PLAIN
    assert plain_value(said, {"secret": "x"}, lambda text: text is not said) is NOT_PLAIN


@pytest.mark.parametrize(
    ("argument", "variables"),
    [
        ("{{ gaudi_release | default('1.24.1') }}", {}),
        ("{{ gaudi_release | default('1.24.1') }}", {"gaudi_release": "1.23.0"}),
        ("{{ gaudi_release | default('1.24.1') }}", {"gaudi_release": None}),
        ("{{ gaudi_release | default('1.24.1', true) }}", {"gaudi_release": ""}),
        ("{{ gaudi_release | default('1.24.1', true) }}", {"gaudi_release": "{{ wanted }}", "wanted": "1.22.0"}),
        ("{{ cards | default(8) }}", {}),
        ("{{ cards | default(-1) }}", {}),
        ("{{ on | default(false) }}", {}),
        ("{{ on | default(true) }}", {"on": False}),
        ("{{ hosts | default([]) }}", {}),
        ("{{ rows | default({}) }}", {"rows": {"1.24.1": {"build": "{}"}}}),
        ("{{ venv | default('/opt/venv') }}/bin/python", {}),
        ("{{ url }}/api/{{ kind | default('pypi') }}", {"url": "https://repository"}),
        ("{{ url }} ", {"url": "https://repository"}),
        (OMIT, {"gaudi_key": "/k.pem"}),
        (OMIT, {"gaudi_key": ""}),
        (OMIT, {}),
    ],
)
def test_what_is_looked_up_is_what_ansible_says(argument, variables):
    assert is_same(argument, variables)


@pytest.mark.parametrize(
    ("argument", "variables"),
    [
        # Of anything but text Ansible makes one in ways of its own, and what omits one option is no other's value.
        ("{{ port }}/tcp", {"port": 22}),
        ("{{ fallback }}", {"fallback": OMIT}),
    ],
)
def test_what_is_not_looked_up_is_left_to_ansible(argument, variables):
    assert not is_same(argument, variables)


def test_ansible_says_the_same_of_arguments_at_random():
    choice, plain_ones = random.Random(18), 0
    literals = ["'a'", "''", "0", "12", "true", "false", "[]", "{}", "omit"]
    values = ["", "b", 0, 3, True, False, None, [], ["c"], {}, {"d": 1}]
    for _turn in range(300):
        texts = []
        for _part in range(choice.choice([1, 1, 1, 2])):
            default = choice.choice(["", f" | default({choice.choice(literals)}{choice.choice(['', ', true'])})"])
            texts.append(f"{{{{ {choice.choice('abc')}{default} }}}}")
        argument = choice.choice(["", "", "/x/"]).join(texts)
        variables = {name: choice.choice(values) for name in choice.sample("abc", choice.randrange(4))}
        if "a" in variables and choice.random() < 0.3:
            variables["a"] = "{{ b | default('e') }}"
        plain_ones += is_same(argument, variables)
    assert plain_ones > 150


def is_same(argument, variables):
    """Whether it is plain; fails where it is, and Ansible's own engine makes something else of it."""
    known = {name: trusted(value) for name, value in variables.items()}
    found = plain_argument(trusted(argument), known, is_trusted)
    if found is NOT_PLAIN:
        return False
    made = filled_in(argument, variables)
    if found is OMITTED:
        assert made is LEFT_OUT
        return True
    assert is_same_value(made, found), (argument, variables)
    return True
