# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which gates a run has, and what one brings that is chosen alone."""

from __future__ import annotations

import pytest

from tests.gates.choosing import RUNS, UnknownGateError, long_forms, named, of_run
from tests.gates.gate import FIRST, LONG_RUN, NODES_RUN, Gate
from tests.gates.table import BRING_NODES, GATES


def names(gates: list[Gate]) -> list[str]:
    return [gate.name for gate in gates]


def chosen(*wanted: str, long: bool = False) -> list[str]:
    return names(named(GATES, wanted, BRING_NODES, long=long))


def test_each_run_has_all_of_the_one_before() -> None:
    first, nodes = (names(of_run(GATES, run)) for run in (FIRST, NODES_RUN))
    assert set(first) < set(nodes)
    # The scenarios of roles are in one gate then, which has every step of them.
    assert {name for name in nodes if not name.startswith("molecule-")} <= set(names(of_run(GATES, LONG_RUN)))
    assert RUNS == (FIRST, NODES_RUN, LONG_RUN)


def test_what_is_played_by_name_alone_brings_its_nodes() -> None:
    assert chosen("firmware") == ["nodes", "firmware"]
    assert chosen("firmware", "monitoring", long=True) == ["nodes", "firmware", "monitoring"]
    assert chosen("site") == ["artifact", "sandbox", "site"]
    assert chosen("site", "programs") == ["artifact", "sandbox", "site", "programs"]
    assert chosen("engines") == ["engines"]
    assert chosen("ruff", "mypy") == ["ruff", "mypy"]
    assert chosen("molecule")[:4] == ["sandbox", "molecule-gaudi_preflight", "nodes", "molecule-gaudi_host"]


def test_it_is_not_played_where_its_nodes_could_not_be_brought() -> None:
    (_nodes, firmware) = named(GATES, ["firmware"], BRING_NODES, long=False)
    assert BRING_NODES.name in firmware.needs


def test_a_name_that_no_gate_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownGateError, match="There is no gate named sites; the gates are ruff, artifact, "):
        chosen("site", "sites")


def test_the_long_form_has_every_row_and_begins_with_nodes_of_a_known_state() -> None:
    (firmware,) = [gate for gate in long_forms(GATES) if gate.name == "firmware"]
    assert firmware.variables == {"PYTEST_ADDOPTS": "-m 'long or not long'"}
    assert "--golden" in firmware.commands[0]
    assert firmware.covers
