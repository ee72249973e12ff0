# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A text that is JSON reaches the module as that text: before ansible-core 2.19 a template makes a mapping of it.

Played by Ansible's own engine, so under each core for which the contracts are played.
"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.tests.unit.template_engine import filled_in

from .checkout import ROOT, read_yaml, tasks_in

TEXT = '{"trials": [1, 2.5], "best": null, "tuned": true}\n'
# Where it comes from: role, tasks, way to the template, variables.
READ: list[tuple[str, str, list[str], dict[str, Any]]] = [
    (
        "gaudi_tune",
        "files",
        ["ansible.builtin.command", "stdin"],
        {"__gaudi_tune_text": {"text": TEXT}},
    ),
    (
        "gaudi_tune",
        "show",
        ["gaudi3.scale.report", "given", "report"],
        {"__gaudi_tune_read": {"results": [{}, {"stdout": TEXT}]}},
    ),
    (
        "gaudi_compare",
        "main",
        ["gaudi3.scale.hpu_compare_settings", "baseline"],
        {"__gaudi_compare_place": {"text": TEXT}, "__gaudi_compare_reads": True},
    ),
]


@pytest.mark.parametrize(("role", "file", "way", "variables"), READ, ids=[f"{one[0]}-{one[1]}" for one in READ])
def test_it_stays_text(role: str, file: str, way: list[str], variables: dict[str, Any]) -> None:
    (template,) = {
        found
        for task in tasks_in(read_yaml(ROOT / "roles" / role / "tasks" / f"{file}.yml"))
        if (found := at(task, way))
    }
    made = filled_in(template, variables)
    assert isinstance(made, str)
    assert made == TEXT


def at(value: Any, way: list[str]) -> str:
    for step in way:
        value = value.get(step) if isinstance(value, dict) else None
    return value or ""
