# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One node that answers nonsense costs its own row: every kind of report, every field that the node's module has."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import RefusedError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.unreadable import made_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import taken_answer
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._results.test_kinds import GIVEN
from ansible_collections.gaudi3.scale.tests.unit.whole_answers import hostile, registered, whole_answer

MODULES = registered()
ASKED = [(kind, name) for kind in KINDS for name in KINDS[kind].variables if name in MODULES]


def passed(module: str, answer: Any) -> dict[str, Any]:
    """What the controller registers of it."""
    try:
        return taken_answer(module, answer)
    except RefusedError as error:
        return {"failed": True, "msg": str(error)}


def made(kind: str, **hosts: Any) -> Made:
    named = {host: {"inventory_hostname": host, **values} for host, values in hosts.items()}
    return made_of(KINDS[kind], Asked(named, GIVEN[kind], False))


@pytest.mark.parametrize("kind, variable", ASKED, ids=[f"{kind}-{name}" for kind, name in ASKED])
def test_whatever_a_node_answers_the_others_have_their_rows(kind: str, variable: str) -> None:
    module = MODULES[variable]
    for at, answer in hostile(whole_answer(module)):
        if not isinstance(answer, dict):
            continue
        given = passed(module, answer)
        try:
            report = made(kind, n1={variable: {"failed": True, "msg": "no answer"}}, n2={variable: given})
        except GaudiError:
            continue
        text = json.dumps(asdict(report), allow_nan=False, default=str)
        assert "n1" in text, at
        assert text.encode("utf-8"), at


def breaks(asked: Asked) -> Made:
    return Made({"rows": [host["told"]["facts"]["cards"] for host in asked.hosts.values()]}, {})


def names(asked: Asked) -> Made:
    rows = [values["told"].get("msg") or values["told"]["facts"]["cards"] for values in asked.hosts.values()]
    return Made({"rows": rows}, {})


def test_a_node_whose_answer_nobody_can_read_has_failed_and_no_other() -> None:
    hosts = {"n1": {"told": {"facts": {"cards": 8}}}, "n2": {"told": {"facts": None}}}
    well, odd = made_of(Kind(("told",), names), Asked(hosts, {}, False)).options["rows"]
    assert well == 8
    assert odd.startswith("n2: its answer cannot be read (TypeError: ")


def test_what_no_node_is_to_blame_for_is_raised() -> None:
    def broken(asked: Asked) -> Made:
        return Made({}, {"hosts": len(asked.hosts) // (2 - len(asked.hosts))})

    with pytest.raises(ZeroDivisionError):
        made_of(Kind(("told",), broken), Asked({"n1": {"told": {}}, "n2": {"told": {}}}, {}, False))


def test_a_kind_that_knows_no_failed_answer_says_so() -> None:
    with pytest.raises(KeyError):
        made_of(Kind(("told",), breaks), Asked({"n1": {"told": {}}}, {}, False))
