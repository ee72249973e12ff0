# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Options with which a module gets as far as it can in a place of its own, made from its argument_spec."""

from __future__ import annotations

import copy
import getpass
from typing import Any, Mapping

# What no rule can guess, by the option's name.
KNOWN: dict[str, Any] = {
    "release": "1.24.1",
    "name": "job",
    "registry": "/srv/models",
    "names": ["localhost"],
    "host": "n1",
    "hosts": ["n1", "n2"],
    "processes_per_node": 1,
    "rendezvous_address": "127.0.0.1",
    "rendezvous_port": 29500,
    "command": ["-m", "train"],
    "device": "cpu",
    "cards": 8,
    "node": "n1",
    "nodes": [],
    "base": {"batch_size": 1},
    "base_image": f"registry.example.org/team/base@sha256:{'1' * 64}",
    "settings": [{"name": "larger", "options": {"batch_size": 2}}],
    "user": getpass.getuser(),
    "engines": ["docker"],
    "part": "files",
    "begin": 1.0,
    "end": 2.0,
    "watts": 600,
    "level": "quick",
}
# The same of those that are dictionaries.
KNOWN_DICTS: dict[str, Any] = {"nodes": {"n1": "127.0.0.1:9100"}, "cloudwatch": {"region": "eu-central-1"}}
# The same of those that are lists.
KNOWN_LISTS: dict[str, Any] = {"cards": [0], "stages": ["pairs"]}
# What no rule can guess of a suboption.
KNOWN_PARTS: dict[str, Any] = {
    **KNOWN,
    "url": "http://localhost:8000",
    "region": "eu-central-1",
    "model": "/srv/model",
    "modules": [1],
}
# Suboptions of which one is needed beside those that are required.
NEEDED_PARTS = {"cards": 1}
# What one module calls as others do, and means otherwise; or has from its action plugin alone.
KNOWN_OF: dict[str, dict[str, Any]] = {
    "serving_proxy": {"name": "n1:job"},
    "program_packages": {"hosts": None},
    "job_image": {"hosts": None},
    # What is published is the one thing, what is moved or checked the other.
    "model_registry": {"version": "production"},
}
# Which engine reads the suboptions.
READ_BY = {"mpi": "mpirun", "slurm": "slurm"}
# Whose suboptions make a job another one than it is without any.
SUPERVISION = "supervision"
SECONDS = ("timeout", "wait", "poll", "seconds", "settle")


def good(options: Mapping[str, Mapping[str, Any]], place: str, module: str = "") -> dict[str, Any]:
    """Each path below ``place``, each wait a second, the rest as declared; None of what is not needed."""
    given = {name: _good(name, rules, place) for name, rules in options.items()}
    given.update(KNOWN_OF.get(module, {}))
    return {name: value for name, value in given.items() if value is not None}


def _good(name: str, rules: Mapping[str, Any], place: str) -> Any:
    kind = rules.get("type", "str")
    if kind == "dict" and name in KNOWN_DICTS:
        return KNOWN_DICTS[name]
    if kind == "list" and name in KNOWN_LISTS:
        return KNOWN_LISTS[name]
    if (name in KNOWN and kind != "dict") or (rules.get("required") and name in KNOWN):
        value = KNOWN[name]
        return value if "choices" not in rules or _is_choice(value, rules) else rules.get("default")
    if kind == "path" and (rules.get("default") or rules.get("required")):
        return f"{place}/good/{name}"
    if kind in ("int", "float") and rules.get("default") and any(word in name for word in SECONDS):
        return 1
    if rules.get("required") and "choices" in rules:
        return rules["choices"][0]
    assert not rules.get("required"), f"good_options.py needs a value for the option {name}"
    return None


def _is_choice(value: Any, rules: Mapping[str, Any]) -> bool:
    return set(value if isinstance(value, list) else [value]) <= set(rules["choices"])


def with_value(
    base: Mapping[str, Any], specification: Mapping[str, Mapping[str, Any]], option: str, value: Any
) -> dict[str, Any]:
    """``base`` with one option replaced; a suboption's holder is made good first."""
    options = copy.deepcopy(dict(base))
    first, _, rest = option.partition(".")
    if not rest:
        options[first] = value
        return options
    rules = specification[first]
    is_list = rules.get("type") == "list"
    inner = with_value(parts(rules["options"]), rules["options"], rest, value)
    options[first] = [inner] if is_list else inner
    if first in READ_BY:
        options["engine"] = READ_BY[first]
    return options


def parts(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Suboptions with which their holder can be meant."""
    needed = {name: _sub(name, part) for name, part in options.items() if part.get("required")}
    return {**needed, **{name: value for name, value in NEEDED_PARTS.items() if name in options}}


def _sub(name: str, rules: Mapping[str, Any]) -> Any:
    return {"int": 1, "float": 1.0, "path": "/srv"}.get(rules.get("type", "str"), KNOWN_PARTS.get(name, "a"))
