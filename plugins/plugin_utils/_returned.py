# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a module of the collection may answer, made from its own RETURN; pure but for reading that.

Ansible obeys some names in any answer: ``ansible_facts`` become variables where INJECT_FACTS_AS_VARS is on, and
``ansible_stats`` the variables of the next job in a workflow of AWX. So what a module does not document is dropped.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.yaml import yaml_load
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    RefusedError,
    event,
    lines,
    maybe,
    number,
    record,
    several,
    truth,
    whole,
)

COLLECTION = "gaudi3.scale."
FACTS = "ansible_facts"
_MODULES = Path(__file__).parents[1] / "modules"
# Deeper than anything that a module answers, and far from what Python or a page cannot take.
_DEEPEST = 20
_MOST_MEMBERS = 100_000
_MOST_REMARKS = 1000
_HALF = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9_]{1,100}")
_OBEYED = re.compile("ansible_|add_(host|group)")
# Words that Ansible itself puts into an answer on the controller.
_OF_ANSIBLE = "_ansible_"


def _text(value: Any, field: str) -> str:
    """As it is, since files and keys are texts too; a page or a file could not hold half of a surrogate pair."""
    if not isinstance(value, str):
        raise RefusedError(field, "a text", value)
    return _HALF.sub("?", value)


def _anything(value: Any, field: str, deepest: int = _DEEPEST) -> Any:
    """What JSON has, but no number that is none, and not without end."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, field)
    if isinstance(value, (int, float)):
        return number(value, field)
    if not deepest or not isinstance(value, (Mapping, list, tuple)) or len(value) > _MOST_MEMBERS:
        raise RefusedError(
            field, f"a value of at most {_DEEPEST} levels and {_MOST_MEMBERS} members", type(value).__name__
        )
    if isinstance(value, Mapping):
        return {_text(name, field): _anything(one, f"{field}.{name}", deepest - 1) for name, one in value.items()}
    return [_anything(one, field, deepest - 1) for one in value]


def _mapping(value: Any, field: str) -> Any:
    if not isinstance(value, Mapping):
        raise RefusedError(field, "a mapping", value)
    return _anything(value, field)


_SIMPLE: dict[str, Kind] = {
    "str": _text,
    "int": number,
    "float": number,
    "bool": truth,
    "raw": _anything,
    "dict": _mapping,
}


def _kind(told: Mapping[str, Any]) -> Kind:
    """The kind of a documented value that is not null."""
    inside = _with_members(told["contains"]) if told.get("contains") else None
    if told["type"] == "list":
        return several(inside or maybe(_SIMPLE.get(told.get("elements", "raw"), _anything)))
    return inside if told["type"] == "dict" and inside else _SIMPLE[told["type"]]


def _with_members(documented: Mapping[str, Any]) -> Kind:
    """A mapping with these members, and with more: of what is inside of an answer Ansible obeys no name, and some are
    such as nobody can list, as cards' addresses."""
    known = record({}, _members(documented))

    def kind(value: Any, field: str) -> dict[str, Any]:
        found: dict[str, Any] = known(value, field)
        return {**_mapping({name: one for name, one in value.items() if name not in documented}, field), **found}

    return kind


def _members(documented: Mapping[str, Any]) -> dict[str, Kind]:
    """What is inside of an answer may be unknown, and then it is null or left out."""
    return {name: maybe(_member(name, told)) for name, told in documented.items()}


def _member(name: str, told: Mapping[str, Any]) -> Kind:
    """Facts have the names alone that are documented."""
    return record({}, _members(told.get("contains") or {})) if name == FACTS else _kind(told)


def answer_kind(documented: Mapping[str, Any]) -> Kind:
    """The schema of an answer, from a parsed RETURN: what is always there, is; a list or mapping is null where that is
    said alone."""
    documented = {name: told for name, told in documented.items() if name not in _REPORTED}
    kinds = {
        name: maybe(_member(name, told)) if _may_be_null(told) else _member(name, told)
        for name, told in documented.items()
    }
    needed = {name: kinds[name] for name, told in documented.items() if told.get("returned") in ("always", "success")}
    may = {name: kind for name, kind in kinds.items() if name not in needed}
    return record(needed, may)


def _may_be_null(told: Mapping[str, Any]) -> bool:
    if told["type"] not in ("list", "dict"):
        return True
    description = told["description"]
    text = description if isinstance(description, str) else " ".join(description)
    return "null" in text.lower() or told.get("returned") not in ("always", "success")


def _difference(value: Any, field: str) -> Any:
    one = record(
        {}, {name: maybe(_anything) for name in ("before", "after", "before_header", "after_header", "prepared")}
    )
    return several(one, _MOST_REMARKS)(value, field) if isinstance(value, (list, tuple)) else one(value, field)


def _deprecation(value: Any, field: str) -> Any:
    """Its words alone: Ansible would show a version, a date or a name as the node says them."""
    return {"msg": event(value, field)} if hasattr(value, "event") else record({"msg": lines})(value, field)


# What Ansible shows of any answer, or makes the state of the task from.
_REPORTED: dict[str, Kind] = {
    **dict.fromkeys(("changed", "failed", "skipped", "unreachable"), _anything),
    "msg": lines,
    "skip_reason": lines,
    "exception": event,
    "module_stdout": lines,
    "module_stderr": lines,
    "rc": whole(-(1 << 31), 1 << 31),
    "warnings": several(event, _MOST_REMARKS),
    "deprecations": several(_deprecation, _MOST_REMARKS),
    "diff": _difference,
    "invocation": _anything,
}
# Of a task with `async`, whose module has only begun.
_BEGUN: dict[str, Kind] = {
    **dict.fromkeys(("ansible_job_id", "results_file"), _text),
    **dict.fromkeys(("started", "finished"), _anything),
}


@functools.cache
def documented_of(module: str) -> dict[str, Any]:
    """The parsed RETURN of a module of the collection, by its short name."""
    tree = ast.parse((_MODULES / f"{module}.py").read_text(encoding="utf-8"))
    texts = [
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and getattr(node.targets[0], "id", "") == "RETURN"
    ]
    # Each task of a run is a process of its own, which reads this anew: Ansible's loader is the one in C.
    return yaml_load(texts[0]) or {}


def facts_of(module: str) -> frozenset[str]:
    """The facts that a module sets."""
    return frozenset(documented_of(module).get(FACTS, {}).get("contains") or ())


def taken_answer(module: str, answer: Mapping[str, Any], _field: str = "") -> dict[str, Any]:
    """What may be used of a module's answer; raises RefusedError where it is none.

    A failure keeps what fits and drops the rest, since what it says first of all is that it failed.
    """
    documented = documented_of(module)
    own = {name: value for name, value in answer.items() if str(name).startswith(_OF_ANSIBLE) and str(name).isascii()}
    reported = {**_fitting(_REPORTED, answer), **own}
    if answer.get("ansible_job_id"):
        return {**_fitting(_BEGUN, answer), **reported}
    if any(answer.get(name) for name in ("failed", "skipped", "unreachable")):
        # What failed is told with words of its own: the option, the file, the lines of a log.
        more = {name: _anything for name in answer if _NAME.fullmatch(str(name)) and not _OBEYED.match(name)}
        return {**_fitting({**more, **_members(documented)}, answer), **reported}
    return {**answer_kind(documented)(answer, ""), **reported}


def _fitting(kinds: Mapping[str, Kind], answer: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, kind in kinds.items():
        if name in answer:
            try:
                found[name] = kind(answer[name], name)
            except RefusedError:
                continue
    return found
