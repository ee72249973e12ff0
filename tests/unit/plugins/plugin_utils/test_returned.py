# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The schema of each module's answer, made from its RETURN: whole answers come through, and nothing else does harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import RefusedError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import documented_of, taken_answer
from ansible_collections.gaudi3.scale.tests.unit.whole_answers import ROOT, hostile, runs_on_nodes, whole_answer

MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py") if runs_on_nodes(path.stem))


@pytest.mark.parametrize("module", MODULES)
def test_a_whole_answer_comes_through_as_it_is(module: str) -> None:
    answer = {"changed": True, **whole_answer(module)}
    assert taken_answer(module, answer) == answer


@pytest.mark.parametrize("module", MODULES)
def test_any_other_answer_is_refused_or_harmless(module: str) -> None:
    for at, answer in hostile(whole_answer(module)):
        if not isinstance(answer, dict):
            continue
        for state in ({}, {"failed": True}):
            try:
                taken = taken_answer(module, {**answer, **state})
            except RefusedError:
                continue
            # What a page or a file can hold: no number that is none, no half of a character.
            assert json.dumps(taken, allow_nan=False, ensure_ascii=False).encode("utf-8"), at


OBEYED: dict[str, Any] = {
    "ansible_facts": {"gaudi_quarantine_drain": "commands", "ansible_user": "root"},
    "ansible_stats": {"data": {"gaudi_drain_host": "localhost"}, "per_host": False, "aggregate": False},
    "add_host": {"host_name": "x"},
    "undocumented": 1,
}


@pytest.mark.parametrize("module", MODULES)
def test_no_word_that_ansible_obeys_comes_through(module: str) -> None:
    for state in ({}, {"failed": True}, {"skipped": True}, {"ansible_job_id": "1.2"}):
        taken = taken_answer(module, {**whole_answer(module), **OBEYED, **state})
        facts = set(documented_of(module).get("ansible_facts", {}).get("contains", {}))
        assert set(taken.get("ansible_facts", {})) <= facts
        assert "ansible_stats" not in taken
        assert state or "undocumented" not in taken


def test_what_is_always_there_is_needed_and_a_failure_needs_nothing() -> None:
    answer = whole_answer("hpu_info")
    with pytest.raises(RefusedError, match=r"^hpu is missing, not as its module answers$"):
        taken_answer("hpu_info", {**{name: one for name, one in answer.items() if name != "hpu"}})
    with pytest.raises(RefusedError, match=r"^hpu is None, not a mapping$"):
        taken_answer("hpu_info", {**answer, "hpu": None})
    failed = {"failed": True, "msg": "no\x1b[2J\ncards", "hpu": 5, "option": "release"}
    assert taken_answer("hpu_info", failed) == {"failed": True, "msg": "no [2J\ncards", "option": "release"}


def test_names_that_nobody_can_list_are_kept_inside_of_an_answer() -> None:
    cards = {f"0000:{number}:00.0": {"joules": 2.5, "gap_seconds": 0.0} for number in (33, 34)}
    answer = {**whole_answer("hpu_energy_info"), "cards": cards}
    assert taken_answer("hpu_energy_info", answer) == answer
    with pytest.raises(RefusedError, match="is nan, not a finite number"):
        taken_answer("hpu_energy_info", {**answer, "cards": {"0000:33:00.0": {"joules": float("nan")}}})


def test_a_node_that_builds_for_all_answers_with_the_build_alone() -> None:
    """``hpu_host_nics`` with ``build_into``, as ``_fabric/verbs/state.py`` answers: the state is another call's."""
    built = {"key": "k", "path": "/scratch/built.tar.gz", "sha256": "0" * 64, "size": 1}
    taken = taken_answer("hpu_host_nics", {"changed": True, "diff": [], "warnings": [], "built": built})
    assert taken["built"] == built
