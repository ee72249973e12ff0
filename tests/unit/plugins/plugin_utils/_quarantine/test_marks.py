# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many nodes are out of service: by what the controller has kept, whatever nodes claim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._quarantine.marks import (
    answers_of,
    changed_marks,
    out_of_service,
    read_marks,
    write_marks,
)

COLLECTIONS = Path(__file__).resolve().parents[5] / ".collections"
NODES = ["n1", "n2", "n3"]
PLAY: list[dict[str, Any]] = [
    {
        "hosts": "n1,n2,n3",
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            {
                "name": "What the node says",
                "ansible.builtin.set_fact": {"gaudi_quarantine_info_result": "{{ said[inventory_hostname] }}"},
            },
            {
                "name": "Which are",
                "gaudi3.scale.quarantine_marks": {"path": "{{ kept }}", "nodes": NODES, "state": "{{ wanted }}"},
                "register": "marks",
                "run_once": True,
            },
            {"name": "Told", "ansible.builtin.debug": {"msg": "ARE {{ marks.quarantined }}"}, "run_once": True},
        ],
    }
]


@pytest.mark.parametrize(
    ("marks", "answers", "found"),
    [
        # n3 lies.
        ({"n1": "t"}, {"n1": True, "n2": False, "n3": True}, ["n1"]),
        ({}, {"n1": True, "n2": True, "n3": True}, []),
        # One that is away, and one that was given back on the node.
        ({"n1": "t", "n2": "t"}, {"n2": False}, ["n1"]),
        # Of another play.
        ({"n9": "t"}, {"n9": True}, []),
        # Nobody has kept anything yet.
        (None, {"n1": True, "n2": False}, ["n1"]),
    ],
)
def test_a_node_is_out_where_the_controller_took_it_out(
    marks: dict[str, str] | None, answers: dict[str, bool], found: list[str]
) -> None:
    assert out_of_service(marks, answers, NODES) == found


def test_what_is_no_word_of_a_node_is_none() -> None:
    said: list[Any] = [None, "yes", [], {}, {"quarantined": "yes"}, {"quarantined": 1}, {"failed": True}]
    told = {f"n{number}": {"gaudi_quarantine_info_result": one} for number, one in enumerate(said)}
    assert answers_of(told, [*told, "n99"], "gaudi_quarantine_info_result") == {}


def test_a_node_keeps_its_first_time_and_is_forgotten() -> None:
    kept = changed_marks(None, "n1", "2026-11-25T03:12:44Z")
    assert changed_marks(kept, "n1", "2027-01-01T00:00:00Z") == kept == {"n1": "2026-11-25T03:12:44Z"}
    assert changed_marks(kept, "n1", "") == changed_marks(kept, "n1", "") == {}
    assert changed_marks(None, "n2", "") == {}


def test_it_is_kept_in_a_file_of_its_own(tmp_path: Path) -> None:
    place = str(tmp_path / "made" / "marks.json")
    assert read_marks(place) is None
    write_marks(place, {"n1": "t"})
    assert read_marks(place) == {"n1": "t"}


@pytest.mark.parametrize("content", ["[]", '{"n1": 5}', "5", '{"n1": null}', "no", "[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "marks.json").write_text(content)
    with pytest.raises(GaudiError, match=r"^gaudi_quarantine_marks .*marks\.json is not? .*(name another file|JSON)"):
        read_marks(str(tmp_path / "marks.json"))


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., str]:
    def run(**variables: Any) -> str:
        (tmp_path / "play.yml").write_text(json.dumps(PLAY))
        (tmp_path / "said.json").write_text(json.dumps({"kept": str(tmp_path / "marks.json"), **variables}))
        ansible = Path(sys.executable).with_name("ansible-playbook")
        words = ["-i", "n1,n2,n3,", "-e", f"@{tmp_path}/said.json", str(tmp_path / "play.yml")]
        around = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
        around.pop("ANSIBLE_CONFIG", None)
        done = subprocess.run([str(ansible), *words], capture_output=True, text=True, env=around, check=False)
        return done.stdout + done.stderr

    return run


def test_in_a_play_a_node_that_lies_is_not_counted(play: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "marks.json").write_text('{"n1": "2026-11-25T03:12:44Z"}')
    said = {"n1": {"quarantined": True}, "n2": {"quarantined": True, "reason": "{{ 1 }}"}, "n3": "nonsense"}
    assert "ARE ['n1']" in play(said=said, wanted="read")


def test_the_node_has_to_be_named(play: Callable[..., str]) -> None:
    assert "node is empty; name the node that is kept." in play(said={name: {} for name in NODES}, wanted="kept")
