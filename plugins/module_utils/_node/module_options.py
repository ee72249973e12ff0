# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The door of every module: what no option can mean is refused before anything is looked at or touched.

Ansible has made the types right by then. What one option means, a host's name or a unit's, its module's core knows.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any, Callable, Collection, Iterator, Mapping

from .._errors import GaudiError
from .secret_words import HIDDEN, is_secret, without_credentials

# A word of a command may have 128 KiB (execve(2), MAX_ARG_STRLEN); a text is a file's content.
LONGEST, LONGEST_TEXT = 1 << 16, 1 << 24
# Linux's limits.h: NAME_MAX, and PATH_MAX with its end.
LONGEST_NAME, LONGEST_PATH = 255, 4095
# Nesting of what has no declared shape: Python's own reader and Ansible's end at some hundreds.
DEEPEST = 16
# No number of bytes, seconds or steps of a cluster; and floats tell integers apart so far.
LARGEST = 10**15
_SHOWN = 60

# C0, C1, the line and paragraph separators, what turns the direction of writing, and halves of surrogate pairs.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class _Exceptions:
    text: frozenset[str]
    long: frozenset[str]
    empty: frozenset[str]
    signed: frozenset[str]
    forms: Mapping[str, Callable[[str, Any], None]]


_NO_NAMES: frozenset[str] = frozenset()
_NONE = _Exceptions(_NO_NAMES, _NO_NAMES, _NO_NAMES, _NO_NAMES, {})


def checked(
    given: Mapping[str, Any],
    argument_spec: Mapping[str, Mapping[str, Any]],
    *,
    text: Collection[str] = (),
    long: Collection[str] = (),
    empty: Collection[str] = (),
    signed: Collection[str] = (),
    forms: Mapping[str, Callable[[str, Any], None]] | None = None,
) -> dict[str, Any]:
    """The options as given; GaudiError for the first that has a value which cannot be meant.

    Exceptions are named as ``option`` or ``option.suboption``: ``text`` may have line breaks, ``long`` may be a
    file's content, ``empty`` may be the empty text, ``signed`` may be negative. ``forms`` are what raises GaudiError by
    an option's name and each value that is no form of it (option_forms). A default is always right.
    """
    exceptions = _Exceptions(frozenset(text), frozenset(long), frozenset(empty), frozenset(signed), forms or {})
    for name, rules in argument_spec.items():
        _check(name, given.get(name), rules, exceptions)
    return dict(given)


def unreadable(
    given: Mapping[str, Any], argument_spec: Mapping[str, Mapping[str, Any]], error: Exception
) -> GaudiError:
    """The refusal of options with which Ansible itself broke, by ``error``, before it had made their types right."""
    try:
        for name, value in given.items():
            _check_free(name, value, _NONE)
    except GaudiError as refusal:
        return refusal
    for name, entry in _no_mappings(given, argument_spec):
        return _refusal(name, entry, "is not a mapping", "give its suboptions with their names")
    said = f"{type(error).__name__}: {_short(str(error))}"
    return GaudiError(f"Ansible cannot read the options of this task ({said}); give each the documented type.")


def _no_mappings(
    given: Mapping[str, Any], argument_spec: Mapping[str, Mapping[str, Any]], holder: str = ""
) -> Iterator[tuple[str, Any]]:
    """Each value that is to have suboptions and cannot, at any depth, with the option's name."""
    for name, rules in argument_spec.items():
        if "options" not in rules:
            continue
        entries = given.get(name) if isinstance(given.get(name), list) else [given.get(name)]
        for entry in entries or ():
            if isinstance(entry, Mapping):
                yield from _no_mappings(entry, rules["options"], f"{holder}{name}.")
            elif not isinstance(entry, (str, type(None))):
                yield f"{holder}{name}", entry


def _check(name: str, value: Any, rules: Mapping[str, Any], exceptions: _Exceptions) -> None:
    if value is None or "choices" in rules or rules.get("type") == "bool" or value == rules.get("default"):
        return
    entries = value if rules.get("type") == "list" else [value]
    kind = rules.get("elements", "raw") if rules.get("type") == "list" else rules.get("type", "str")
    for entry in entries:
        if "options" in rules:
            for part, part_rules in rules["options"].items():
                _check(f"{name}.{part}", entry.get(part), part_rules, exceptions)
        elif kind in ("str", "path"):
            _check_words(name, entry, kind, exceptions)
        elif kind in ("int", "float"):
            _check_number(name, entry, name in exceptions.signed)
        else:
            _check_free(name, entry, exceptions)
        if name in exceptions.forms and entry not in (None, ""):
            exceptions.forms[name](name, entry)


def _check_words(name: str, value: str, kind: str, exceptions: _Exceptions) -> None:
    if not (value.strip() if name not in exceptions.text else value):
        if not value and name in exceptions.empty:
            return
        raise _refusal(name, value, "is blank", "give a value, or leave the option out")
    if _is_container(value):
        raise _refusal(name, value, "is a list or a mapping", "give one text")
    _check_text(name, value, name, exceptions)
    if kind == "path":
        _check_path(name, value)


def _check_path(name: str, value: str) -> None:
    if not value.startswith("/"):
        raise _refusal(name, value, "does not begin with /", "give the whole path")
    sizes = [len(part.encode(errors="replace")) for part in value.split("/")]
    if max(sizes) > LONGEST_NAME or sum(sizes) + len(sizes) > LONGEST_PATH:
        raise _refusal(name, value, "is longer than Linux allows", "give a shorter path")


def _check_text(place: str, value: str, name: str, exceptions: _Exceptions) -> None:
    """``place`` is where in the option ``name`` the text stands."""
    longest = LONGEST_TEXT if name in exceptions.long else LONGEST
    is_text = name in exceptions.text
    if len(value) > longest:
        raise _refusal(place, value, f"has {len(value)} characters", f"give at most {longest}")
    if (_CONTROL_IN_TEXT if is_text else _CONTROL).search(value):
        wanted = "give it without" if is_text else "give it in one line, without them"
        raise _refusal(place, value, "has a line break or another control character", wanted)


def _check_number(name: str, value: Any, is_signed: bool) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise _refusal(name, value, "is not a finite number", "give a finite one")
    if abs(value) > LARGEST:
        raise _refusal(name, value, "is too large", f"give at most {LARGEST}")
    if value < 0 and not is_signed:
        raise _refusal(name, value, "", "give 0 or more")


def _check_free(name: str, value: Any, exceptions: _Exceptions) -> None:
    """A value whose shape the module's core knows: each text and number in it, whatever the sign."""
    for place, leaf in _leaves(name, value):
        if isinstance(leaf, str):
            _check_text(place, leaf, name, exceptions)
        elif isinstance(leaf, (int, float)):
            _check_number(place, leaf, is_signed=True)


def _leaves(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        raise GaudiError(f"{_short(name)} is nested deeper than {DEEPEST} levels; give a flatter value.")
    if isinstance(value, Mapping):
        for key, entry in value.items():
            _check_text(f"a name in {name}", str(key), "", _NONE)
            yield from _leaves(f"{name}.{key}", entry, depth + 1)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(name, entry, depth + 1)
    else:
        yield name, value


def _is_container(value: str) -> bool:
    """Whether Ansible made a text of a list or a mapping, which Python writes with its own quotes."""
    if value[:1] + value[-1:] not in ("[]", "{}") or "'" not in value or len(value) > LONGEST:
        return False
    try:
        return str(ast.literal_eval(value)) == value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _refusal(name: str, value: Any, why: str, remedy: str) -> GaudiError:
    because = f", which {why}" if why else ""
    return GaudiError(f"{_short(name)} is {_shown(name, value)}{because}; {remedy}.", option=_short(name))


def _shown(name: str, value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    if not isinstance(value, str):
        return repr(value)
    leaf = name.rpartition(".")[2]
    return HIDDEN if is_secret(leaf) else _short(ascii(without_credentials(value)))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
