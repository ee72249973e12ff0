# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the gates names each with the run that plays it, and gates with long rows say which files they prove."""

from __future__ import annotations

import re

import pytest

from tests.gates.gate import LONG_RUN, Gate
from tests.gates.table import GATES

from .checkout import ROOT
from .proofs import folders_of

PAGE = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w-]+)` \| ([\w, ]+) \| .+ \|$", PAGE, re.MULTILINE)
# Rows of the long run: a mark of one, or of those of a matrix that the short run leaves out.
LONG = re.compile(r"pytest\.mark\.long\b|\bnamed_rows\(|^@each\(", re.MULTILINE)


def run_of(gate: Gate) -> str:
    if gate.run == LONG_RUN:
        return "long"
    return f"{gate.run}, rows in long" if gate.long_form else gate.run


def test_each_gate_is_on_the_page_once_with_its_run() -> None:
    usual = [(gate.name, run_of(gate)) for gate in GATES if not gate.name.startswith("molecule-")]
    of_roles = {run_of(gate) for gate in GATES if gate.name.startswith("molecule-")}
    assert sorted(ROWS) == sorted([*usual, ("molecule-ROLE", *of_roles)])


def has_long_rows(gate: Gate) -> bool:
    files = [path for folder in folders_of(gate) for path in (ROOT / folder).rglob("test_*.py")]
    return any(LONG.search(path.read_text(encoding="utf-8")) for path in files)


@pytest.mark.parametrize("gate", [pytest.param(gate, id=gate.name) for gate in GATES])
def test_rows_of_the_long_run_are_recorded(gate: Gate) -> None:
    """Those of a role's scenario by the gate ``layers`` and those of the controller's units by ``unit``, with all of
    them.
    """
    recorded = gate.long_form or (gate if gate.run == LONG_RUN else None)
    if gate.name.startswith("molecule-"):
        (layers,) = [one for one in GATES if one.name == "layers"]
        assert set(folders_of(gate)) <= set(layers.covers)
    elif gate.name == "unit-controller":
        (unit,) = [one for one in GATES if one.name == "unit"]
        assert unit.long_form and any("tests/unit" in command for command in unit.long_form.commands)
    elif gate.name != "schedules":
        assert (recorded is not None) == has_long_rows(gate)


@pytest.mark.parametrize("gate", [pytest.param(gate, id=gate.name) for gate in GATES if gate.long_form or gate.covers])
def test_what_a_gate_covers_is_there(gate: Gate) -> None:
    covers = (gate.long_form or gate).covers
    assert covers and [path for path in covers if not (ROOT / path).exists()] == []
