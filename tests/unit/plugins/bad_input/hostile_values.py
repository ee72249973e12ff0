# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile values for an option, by its kind; and by rule, which of them the option may still accept."""

from __future__ import annotations

import re
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
# By what an option is: names of packages, units, words of units, words of /etc/passwd, networks and sizes of packets.
_PACKAGES = {
    "an option of apt": "-oDebug::NoLocking=1",
    "two commands": "a;id",
    "a file": "/tmp/a.deb",
    "a URL": "https://example.org/a.deb",
    "one to remove": "curl-",
    "two packages": "a b",
}
_UNITS = {
    "unit traversal": "../../../tmp/x.service",
    "two units": "a b.service",
    "no unit": "x",
    "unit option": "--now",
}
_PLACES_IN_UNITS = {"blank in path": "/tmp/a b", "percent": "/tmp/%h", "quote": '/tmp/a"b', "upwards": "/tmp/../etc/x"}
_FIELDS = {"colon": "/home/a:b", "blank in path": "/home/a b", "upwards": "/home/../etc"}
_VERSIONS = {"two versions": "x y", "a command": "$(id)", "no version": "latest"}
_NETWORKS = {"no network": "eth0;id", "two networks": "10.0.0.0/8 192.0.2.0/24"}
_FORMED: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (r"distribution_packages\.names|.*\.system_packages\..*|.*[._](?:os_|lustre_|ofed_|build_)?packages", _PACKAGES),
    (r"hpu_container_runtime\.hold", _PACKAGES),
    (r"(?:hpu_exporter|monitoring_server)\.(?:.*_)?unit", _UNITS),
    (r"hpu_exporter\.(?:directory|program|arguments_file)|monitoring_server\..*_program", _PLACES_IN_UNITS),
    (r"hpu_qualify_schedule\.(?:venv|flags)|hpu_container_runtime\.program|slurm_fragments\.venv", _PLACES_IN_UNITS),
    (r"slurm_fragments\.(?:task_prolog|configuration|programs)|training_job\.mpi\.prefix", _PLACES_IN_UNITS),
    (r"job_account\.(?:home|shell)", _FIELDS),
    (r"(?:hpu_host_nics|slurm_fragments)\.release|hpu_host_nics\.libfabric_version", _VERSIONS),
    (r"training_job\.mpi\.network", _NETWORKS),
    (r"slurm_fragments\.interval", {"nothing": 0, "beyond 16 bits": 70_000}),
    (r"slurm_fragments\.max_drained_fraction", {"above one": 7.0}),
    (r"slurm_fragments\.node", {"DEFAULT": "DEFAULT", "ALL": "ALL", "a range": "n[1-3]", "a list": "n1,n2"}),
    (r"monitoring_server\..*port", {"no port": 99_999}),
    (r"hpu_host_nics\.roce_mtu", {"nothing": 0, "a billion": 10**9}),
    (
        r"(?:training_job|hpu_batch_probe|hpu_compare_settings)\.environment",
        {"nested": {"A": {"b": "c"}}, "null": {"A": None}},
    ),
    (
        r"hpu_host\.module_parameters",
        {"null": {"a": None}, "truth": {"a": True}, "nested": {"a": {"b": "c"}}, "text": {"a": "b c"}},
    ),
    (
        r"monitoring_server\.nodes",
        {
            "a port beyond": {"n1": "127.0.0.1:99999"},
            "braces": {"{{ 7 }}": "127.0.0.1:9100"},
            "a slash": {"a/b": "127.0.0.1:9100"},
            "zeros": {"n1": "010.0.0.1:9100"},
            "twins": {"n1": "127.0.0.1:9100", "n2": "[::ffff:127.0.0.1]:9100"},
        },
    ),
)
# What is no choice, Ansible refuses by itself.
_CHOSEN = {"empty": "", "words": "$(id)", "list": ["a"]}
# None of these says anything that an option could mean.
NEVER = {"blank", "NUL", "escape", "surrogate", "direction", "huge", "list", "dict", "new line", "empty"} | {
    *_FLOATS,
    *_TRUTHS,
    *_WORDS_FOR_NAMES,
    *(label for _pattern, values in _FORMED for label in values),
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


def attacks(
    option: str, rules: Mapping[str, Any], exceptions: Mapping[str, tuple[str, ...]], module: str = ""
) -> Iterator[Attack]:
    """All attacks on an option of ``module`` and its suboptions."""
    kind = rules.get("type", "str")
    element = rules.get("elements") if kind == "list" else None
    if "options" in rules:
        yield from _of_shape(option, kind)
        for name, inner in rules["options"].items():
            yield from attacks(f"{option}.{name}", inner, exceptions, module)
        return
    values = _CHOSEN if "choices" in rules else _values(element or kind)
    if option.rpartition(".")[2] in _NAMED:
        values = {**values, **_WORDS_FOR_NAMES}
    values = {**values, **({} if "choices" in rules else _formed(f"{module}.{option}"))}
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


def _formed(option: str) -> dict[str, Any]:
    """Those that are wrong for what this option is, by its name with the module's before it."""
    return {
        label: value for pattern, formed in _FORMED if re.fullmatch(pattern, option) for label, value in formed.items()
    }


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
