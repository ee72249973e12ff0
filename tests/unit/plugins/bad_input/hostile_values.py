# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile values for an option, by its kind; and by rule, which of them the option may still accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

# What a directory of the scratch place holds for the attacks on paths; see scratch.py.
PLACES = (
    "directory",
    "fifo",
    "zero",
    "unreadable",
    "missing/parent/file",
    "file/below",
    "dangling",
    "loop",
    "nested.json",
)

_WORDS = {
    "empty": "",
    "blank": "  \t",
    "new line": "/tmp/a\nTrusted: yes",
    "NUL": "/tmp/a\0b",
    "escape": "/tmp/\x1b[2Ja",
    "surrogate": "/tmp/\udc80",
    "direction": "/tmp/\u202ea",
    "huge": "/" + "a" * (1 << 20),
    "list": ["a", {"b": "c"}],
    "dict": {"a": ["b"]},
}
_NUMBERS = {
    "negative": -1,
    "far negative": -(10**30),
    "beyond": 10**30,
    "400 digits": 10**400,
    "words": "$(id)",
    "list": [1],
    "dict": {"a": 1},
}
_FLOATS = {**_NUMBERS, "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": "-inf"}
_TRUTHS = {"words": "perhaps", "number": 2, "list": [True], "dict": {"a": True}}
# What an option of this name can never mean, whatever the module.
_NAMED = (
    "host",
    "hosts",
    "node",
    "rendezvous_address",
    "addresses",
    "spares",
    "witness",
    "interface",
    "user",
    "owner",
    "name",
)
_WORDS_FOR_NAMES = {"shell": "$(id)", "option": "--help", "path": "../../etc/passwd", "blank inside": "a b"}
# What is no choice, Ansible refuses by itself.
_CHOSEN = {"empty": "", "words": "$(id)", "list": ["a"]}
# None of these says anything that an option could mean.
NEVER = {"blank", "NUL", "escape", "surrogate", "direction", "huge", "list", "dict", "new line", "empty"} | {
    *_FLOATS,
    *_TRUTHS,
    *_WORDS_FOR_NAMES,
    "deep",
    "name",
}


@dataclass(frozen=True)
class Attack:
    """``value`` for ``option`` (a path of names for a suboption). ``never``: no option of the kind can mean it.

    ``trouble`` is what the machine does meanwhile: nothing, or a full or a read-only disk.
    """

    option: str
    label: str
    value: Any
    never: bool
    trouble: str = ""


def attacks(option: str, rules: Mapping[str, Any], exceptions: Mapping[str, tuple[str, ...]]) -> Iterator[Attack]:
    """All attacks on an option and its suboptions."""
    kind = rules.get("type", "str")
    element = rules.get("elements") if kind == "list" else None
    if "options" in rules:
        yield from _of_shape(option, kind)
        for name, inner in rules["options"].items():
            yield from attacks(f"{option}.{name}", inner, exceptions)
        return
    values = _CHOSEN if "choices" in rules else _values(element or kind)
    if option.rpartition(".")[2] in _NAMED:
        values = {**values, **_WORDS_FOR_NAMES}
    for label, value in values.items():
        may = _may(option, label, value, rules, exceptions)
        yield Attack(option, label, [value] if element else value, label in NEVER and not may)
    if kind in ("list", "dict"):
        yield from _of_shape(option, kind)
    if "path" in (kind, element):
        for place in PLACES:
            value = f"{{scratch}}/{place}"
            yield Attack(option, place, [value] if element else value, never=False)
    if kind == "path":
        for trouble in ("full disk", "read-only"):
            yield Attack(option, trouble, "{scratch}/good/" + option, False, trouble)


def _values(kind: str) -> dict[str, Any]:
    if kind in ("str", "path"):
        return _WORDS
    if kind == "int":
        return _NUMBERS
    if kind == "float":
        return _FLOATS
    if kind == "bool":
        return _TRUTHS
    if kind == "list":
        return {}
    plain = {label: _WORDS[label] for label in ("new line", "NUL", "escape", "surrogate", "huge")}
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    shapes = {**plain, "deep": deep, "NaN": float("nan"), "400 digits": 10**400}
    keyed = {label: {"A": value} for label, value in shapes.items()}
    return {**keyed, "name": {"a\nb": 1}, "lists": {"A": [[]]}, "dicts": {"1.24.1": {"build": {"a": []}}, "x": None}}


def _of_shape(option: str, kind: str) -> Iterator[Attack]:
    """Lists where mappings are meant, and the other way round."""
    if kind == "dict":
        for label, value in {"list": [1, 2], "number": 7, "words": "neither"}.items():
            yield Attack(option, label, value, never=True)
        yield Attack(option, "brackets", "{" + '"a":{' * 400, never=True)
    if kind == "list":
        yield Attack(option, "dict", {"a": 1}, never=True)
        yield Attack(option, "list of lists of lists", [[[["a"]]]], never=False)
        yield Attack(option, "number", 7, never=False)


def _may(
    option: str, label: str, value: Any, rules: Mapping[str, Any], exceptions: Mapping[str, tuple[str, ...]]
) -> bool:
    """Whether this option may accept what others may not: it says so itself."""
    if value == rules.get("default") or (label == "number" and rules.get("type") == "bool"):
        return True
    return (
        (label in ("new line", "blank", "direction") and option in exceptions.get("text", ()))
        or (label == "huge" and option in exceptions.get("long", ()))
        or (label == "empty" and option in exceptions.get("empty", ()))
        or (label == "negative" and option in exceptions.get("signed", ()))
    )
