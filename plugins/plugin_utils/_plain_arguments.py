# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What the commonest templates stand for, read without compiling them; pure.

Nearly all that a role is given is a variable's name, or another variable's name with a default, and to compile each as
a template in each host's process costs the controller more than all else that it does for the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

NOT_PLAIN = object()
# What a default of ``omit`` comes to: the option is not given at all.
OMITTED = object()
_MARKS = ("{{", "{%", "{#")
# One variable, with or without a default that is a literal: {{ name }}, {{ name | default('text', true) }}.
_ONE = re.compile(
    r"\{\{ (?P<name>[a-z_][a-z0-9_]*)"
    r"(?: \| default\((?P<default>'[^'\\{}]*'|-?[0-9]{1,15}|true|false|\[\]|\{\}|omit)(?P<also_empty>, true)?\))? \}\}"
)
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "omit": OMITTED}
# No role refers further; a circle is Ansible's to tell of.
_DEEPEST = 8

IsTemplate = Callable[[Any], bool]


def plain_argument(value: object, variables: Mapping[str, Any], is_template: IsTemplate) -> Any:
    """What the template ``value`` stands for; ``NOT_PLAIN`` where that takes more than looking variables up.

    ``is_template`` says of a text with braces whether Ansible would fill it in: what a node has said is as it is.
    """
    return _filled_in(value, variables, is_template, _DEEPEST)


def plain_value(value: object, variables: Mapping[str, Any], is_template: IsTemplate) -> Any:
    """The same of a variable's own value, which need not be a template."""
    return _value(value, variables, is_template, _DEEPEST)


def is_plain(value: object) -> bool:
    """Whether it is what it looks like: no template, at any depth, and nothing that a vault has encrypted."""
    if isinstance(value, str):
        return not any(mark in value for mark in _MARKS)
    if isinstance(value, Mapping):
        return all(is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float))


def _value(value: object, variables: Mapping[str, Any], is_template: IsTemplate, deeper: int) -> Any:
    if is_plain(value):
        return value
    if not isinstance(value, str) or not is_template(value):
        return NOT_PLAIN
    return _filled_in(value, variables, is_template, deeper)


def _filled_in(value: object, variables: Mapping[str, Any], is_template: IsTemplate, deeper: int) -> Any:
    if not isinstance(value, str) or not deeper:
        return NOT_PLAIN
    whole = _ONE.fullmatch(value)
    if whole:
        return _looked_up(whole, variables, is_template, deeper)
    around, parts = _ONE.split(value)[:: _ONE.groups + 1], [*_ONE.finditer(value)]
    if not parts or not all(map(is_plain, around)):
        return NOT_PLAIN
    texts = [_looked_up(part, variables, is_template, deeper) for part in parts]
    # Of anything but text, Ansible makes one in ways of its own.
    if not all(isinstance(text, str) for text in texts):
        return NOT_PLAIN
    return "".join(text for pair in zip(around, [*texts, ""]) for text in pair)


def _looked_up(one: re.Match[str], variables: Mapping[str, Any], is_template: IsTemplate, deeper: int) -> Any:
    name, default = one["name"], one["default"]
    if name in variables:
        found = _value(variables[name], variables, is_template, deeper - 1)
        if found is OMITTED:
            return NOT_PLAIN
        return _literal(default) if one["also_empty"] and found is not NOT_PLAIN and not found else found
    return NOT_PLAIN if default is None else _literal(default)


def _literal(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text in ("[]", "{}"):
        return [] if text == "[]" else {}
    return text[1:-1] if text.startswith("'") else int(text)
