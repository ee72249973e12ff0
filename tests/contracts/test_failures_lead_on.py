# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever fails leads on to a command or a page that exists: all of it, by count (leads.py)."""

from __future__ import annotations

import pytest

from . import leads
from .leads import KINDS

# Fewer than there are today would say that they are no longer found.
LEAST = {
    "tasks of roles and playbooks": 50,
    "roles": 25,
    "modules": 75,
    "actions": 40,
    "inventories": 1,
    "commands": 4,
    "alerts": 35,
    "checks of a node": 50,
    "items of an audit": 30,
    "verdicts on a step": 9,
    "nodes": 1,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_leads_on(kind: str) -> None:
    found = KINDS[kind]()
    assert len(found) >= LEAST[kind]
    assert [name for name, leads_on in found.items() if not leads_on] == []


def test_all_of_them_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    line = leads.counted()
    with capsys.disabled():
        print(f"\n{line}")
    count, whole = line.split(" places")[0].split(" of ")
    assert count == whole


@pytest.mark.parametrize(
    "text",
    [
        "gaudi_model_job: it has no metrics; correct the name.",
        "See docs/nothing.md in https://example.com.",
        "See docs/profile.md#nothing.",
        "Run repair_everything.yml again.",
        "ansible-playbook gaudi3.scale.repair_everything",
        "gaudi3_scale repair shows it",
        "Run verify.yml, or repair_everything.yml.",
    ],
)
def test_what_names_nothing_that_exists_does_not(text: str) -> None:
    assert not leads.leads_on(text)


def test_what_is_rescued_is_said_again_by_a_task_that_leads_on() -> None:
    for path in leads.CARRIED:
        assert (leads.ROOT / path).is_file()
        assert leads._is_carried(leads.ROOT / path, "{{ reason }}")
        assert not leads._is_carried(leads.ROOT / path, "words of its own")
