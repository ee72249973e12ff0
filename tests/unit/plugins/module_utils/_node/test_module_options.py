# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What no option of any module can mean is refused at the door, in a sentence with option, value and remedy."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_options import checked, unreadable

SPEC = {
    "name": {"type": "str", "required": True},
    "path": {"type": "path", "default": ""},
    "cards": {"type": "int", "default": 0},
    "share": {"type": "float", "default": 0.5},
    "mode": {"type": "str", "choices": ["a", "b"]},
    "words": {"type": "list", "elements": "str", "default": []},
    "settings": {"type": "dict", "default": {}},
    "disks": {"type": "list", "elements": "dict", "options": {"need": {"type": "int"}, "at": {"type": "path"}}},
}
NESTED: list = []
for _ in range(40):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, ("name is ''", "blank", "give a value")),
        ({"name": " \t"}, ("name is ' \\t'", "blank")),
        ({"name": "a\nTrusted: yes"}, ("name is 'a\\nTrusted: yes'", "one line")),
        ({"name": "a\x1b[2J"}, ("\\x1b[2J", "control character")),
        ({"name": "a\0b"}, ("a\\x00b",)),
        ({"name": "\u202egnp.exe"}, ("\\u202e",)),
        ({"name": "half \udc80"}, ("\\udc80",)),
        ({"name": "x" * (1 << 20)}, ("xxx...", "1048576 characters", "65536")),
        ({"name": "{'a': 1}"}, ("{'a': 1}", "give one text")),
        ({"name": "['a', 'b']"}, ("a list or a mapping",)),
        ({"path": "venv"}, ("path is 'venv'", "does not begin with /")),
        ({"path": "/" + "a" * 256}, ("longer than Linux allows",)),
        ({"path": "/a" * 3000}, ("longer than Linux allows",)),
        ({"cards": -1}, ("cards is -1", "give 0 or more")),
        ({"cards": 10**400}, ("cards is a number of 1329 bits", "give at most 1000000000000000")),
        ({"share": float("nan")}, ("share is nan", "finite")),
        ({"share": float("-inf")}, ("share is -inf",)),
        ({"words": ["fine", "no\r\nfine"]}, ("words is 'no\\r\\nfine'",)),
        ({"words": ["fine", ""]}, ("words is ''",)),
        ({"settings": {"a": {"b": ["x\0"]}}}, ("settings.a.b is 'x\\x00'",)),
        ({"settings": {"a\nb": 1}}, ("a name in settings is 'a\\nb'",)),
        ({"settings": {"a": float("inf")}}, ("settings.a is inf",)),
        ({"settings": {"a": NESTED}}, ("settings.a is nested deeper than 16 levels",)),
        ({"disks": [{"need": 1, "at": "/"}, {"need": -1}]}, ("disks.need is -1",)),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_option_value_and_remedy(given, words):
    with pytest.raises(GaudiError) as refused:
        checked({"name": "a", **given}, SPEC)
    sentence = str(refused.value)
    for word in words:
        assert word in sentence
    assert sentence.isprintable() and len(sentence) < 250 and sentence.endswith(".")


@pytest.mark.parametrize(
    "given",
    [
        {"path": "", "cards": 0, "words": [], "settings": {}},
        {"path": None, "disks": None, "mode": "b"},
        {"words": ["[1, 2]", '{"a": 1}', "{{ a }}", "grüße", "a b"]},
        {"settings": {"offset": -1, "empty": "", "on": True, "nested": [[-0.5]]}},
    ],
)
def test_what_can_be_meant_comes_back_as_given(given):
    assert checked({"name": "a", **given}, SPEC) == {"name": "a", **given}


def test_an_exception_covers_its_option_and_what_it_was_made_for_alone():
    excepted = {"text": ("words", "settings"), "empty": ("name", "words"), "signed": ("cards",), "long": ("words",)}
    given = {"name": "", "words": ["a\n\tb", "", "  ", "x" * (1 << 20)], "settings": {"prompt": "a\nb"}, "cards": -1}
    assert checked(given, SPEC, **excepted) == given
    for wrong in ({"name": " "}, {"words": ["a\0"]}, {"settings": {"prompt": "\x1b"}}, {"cards": -(10**16)}):
        with pytest.raises(GaudiError):
            checked({**given, **wrong}, SPEC, **excepted)


def test_a_secret_is_not_shown():
    for given in ({"WANDB_API_KEY": "planted\n"}, {"index": "https://me:planted@host/\n"}):
        with pytest.raises(GaudiError) as refused:
            checked({"name": "a", "settings": given}, SPEC)
        assert "planted" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "half \udc80"}, "name is 'half \\udc80'"),
        ({"share": 10**400}, "share is a number of 1329 bits"),
        ({"disks": [3]}, "disks is 3, which is not a mapping; give its suboptions"),
        ({"name": "fine"}, "Ansible cannot read the options of this task (TypeError: broken)"),
    ],
)
def test_what_breaks_ansible_itself_is_told_by_the_option_that_did_it(given, words):
    sentence = str(unreadable({**given, "_ansible_version": "2.19"}, SPEC, TypeError("broken")))
    assert words in sentence and sentence.isprintable()
