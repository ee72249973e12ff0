# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Values that are none of an option's kind, made from its specification, and what Ansible's own reader says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

# Of no option of the kind: lists where numbers are meant, words where truths are.
_OF_KIND: dict[str, list[Any]] = {
    "int": ["$(id)", "", "1.5", [1], {"a": 1}, float("nan"), "0x10", "1 2", "12px", b"x"],
    "float": ["$(id)", "", [1.0], {"a": 1}, "1,5", "one", b"x"],
    "bool": ["perhaps", "", 2, [True], {"a": True}, "ja", -1],
    "dict": [[1], 7, "neither", 1.5, True, [["a", "b"]], "{'a': "],
    "list": [{"a": 1}],
}
_CHOSEN = ["", "$(id)", "{{ 7 }}", ["a"], {"a": 1}, 7, "\x1b[2J", "no such", "a" * 100_000]


def wrong_values(rules: Mapping[str, Any]) -> Iterator[Any]:
    """What Ansible has to refuse of an option with these rules."""
    kind = rules.get("type", "str")
    is_list = kind == "list"
    if "choices" in rules:
        yield from ([value] if is_list else value for value in _CHOSEN if value not in rules["choices"])
        return
    yield from _OF_KIND.get(kind, [])
    if is_list:
        yield from ([value] for value in _OF_KIND.get(rules.get("elements", "str"), []))


def cases(options: Mapping[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, rules in options.items():
        for value in wrong_values(rules):
            yield (*way, name), value
        yield from cases(rules.get("options") or {}, (*way, name))


def at(way: tuple[str, ...], value: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with this value at the end of the way, as a list where one has suboptions for each entry."""
    first, *rest = way
    if not rest:
        return {first: value}
    inner = at(tuple(rest), value, options[first]["options"])
    return {first: [inner] if options[first].get("type") == "list" else inner}


def rules_at(way: tuple[str, ...], options: Mapping[str, Any]) -> Mapping[str, Any]:
    first, *rest = way
    found: Mapping[str, Any] = options[first]
    return rules_at(tuple(rest), found["options"]) if rest else found


def lenient(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options of which none is needed, so that each refusal is for the one value."""
    return {
        name: {
            **{
                key: rule
                for key, rule in rules.items()
                if key not in ("required", "default", "description", "version_added")
            },
            **({"options": lenient(rules["options"])} if rules.get("options") else {}),
        }
        for name, rules in options.items()
    }


def unrefused(given: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """What is taken that must not be, and what is refused without the option's name."""
    options = lenient(given)
    validator = ArgumentSpecValidator(options)
    taken, silent = [], []
    for way, value in cases(options):
        try:
            said = validator.validate(at(way, value, options)).error_messages
        except TypeError:
            # Ansible has it of a number in the place of suboptions: the task fails before anything else begins.
            assert "options" in rules_at(way, options)
            continue
        if not said:
            taken.append((".".join(way), value))
        elif way[-1] not in " ".join(said) and "dictionary requested" not in " ".join(said):
            silent.append((".".join(way), value, said))
    return taken, silent
