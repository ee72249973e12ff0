# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One member is set, and every other byte stays."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.json_edit import set_member

PATH = ("runtimes", "habana", "path")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "runtimes": {\n    "habana": {\n      "path": "P"\n    }\n  }\n}'),
        ("{\n}\n", '{\n  "runtimes": {\n    "habana": {\n      "path": "P"\n    }\n  }\n}\n'),
        ('{"debug": true}', '{"debug": true, "runtimes": {"habana": {"path": "P"}}}'),
        (
            '{\n    "debug": true\n}\n',
            (
                '{\n    "debug": true,\n    "runtimes": {\n'
                '        "habana": {\n            "path": "P"\n        }\n    }\n}\n'
            ),
        ),
        (
            '{\n\t"runtimes": {\n\t\t"kata": {"path": "/k"}\n\t},\n\t"dns": ["1.1.1.1",   "8.8.8.8"]\n}\n',
            (
                '{\n\t"runtimes": {\n\t\t"kata": {"path": "/k"},\n\t\t"habana": {\n\t\t\t"path": "P"\n\t\t}\n\t},\n'
                '\t"dns": ["1.1.1.1",   "8.8.8.8"]\n}\n'
            ),
        ),
        (
            '{\n  "runtimes": {\n    "habana": { "runtimeArgs": [], "path" : "old" }\n  }\n}\n',
            '{\n  "runtimes": {\n    "habana": { "runtimeArgs": [], "path" : "P" }\n  }\n}\n',
        ),
        ('{\n  "runtimes": {}\n}\n', '{\n  "runtimes": {\n    "habana": {\n      "path": "P"\n    }\n  }\n}\n'),
        ('{\n  "runtimes": {"habana": {}}\n}\n', '{\n  "runtimes": {"habana": {"path": "P"}}\n}\n'),
    ],
)
def test_styles(before: str, after: str) -> None:
    assert set_member(before, PATH, "P") == after


def test_braces_and_commas_inside_strings_are_not_structure() -> None:
    before = '{\n  "label": "a } , \\" { b",\n  "runtimes": {"x}": {"path": "}"}}\n}\n'
    after = set_member(before, PATH, "P")
    assert after == before.replace('{"path": "}"}', '{"path": "}"}, "habana": {"path": "P"}')


def test_of_a_key_that_occurs_twice_the_last_counts() -> None:
    after = set_member('{"runtimes": {"a": {}}, "runtimes": {"b": {}}}', PATH, "P")
    assert json.loads(after) == {"runtimes": {"b": {}, "habana": {"path": "P"}}}


def _object(chance: random.Random, depth: int) -> dict[str, Any]:
    names = chance.sample(["debug", "runtimes", "habana", "dns", "x{", 'q"', "ü"], chance.randint(0, 4))
    return {
        name: _object(chance, depth - 1)
        if depth and (name in ("runtimes", "habana") or chance.random() < 0.3)
        else chance.choice([True, None, 1, 1.5e300, "a}b,", [], [1, {"a": []}]])
        for name in names
    }


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_any_object_reads_back_as_itself_with_the_member(indent: int | str | None) -> None:
    chance = random.Random(7)
    tried = 0
    while tried < 200:
        wanted = _object(chance, 3)
        runtimes = wanted.get("runtimes", {})
        if not isinstance(runtimes, dict) or not isinstance(runtimes.get("habana", {}), dict):
            continue
        text = json.dumps(wanted, indent=indent, ensure_ascii=False)
        after = set_member(text, PATH, "P")
        wanted.setdefault("runtimes", {}).setdefault("habana", {})["path"] = "P"
        assert json.loads(after) == wanted
        assert list(json.loads(after)) == list(wanted)
        tried += 1
