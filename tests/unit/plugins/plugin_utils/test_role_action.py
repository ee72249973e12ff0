# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import joined


def test_the_interpreter_that_ansible_has_found_does_not_take_the_place_of_the_facts():
    facts = {"ansible_facts": {"distribution": "Debian"}}
    done = {"changed": True, "ansible_facts": {"discovered_interpreter_python": "/usr/bin/python3"}}
    assert joined(facts, done) == {
        "changed": True,
        "ansible_facts": {"distribution": "Debian", "discovered_interpreter_python": "/usr/bin/python3"},
    }


def test_a_result_without_facts_has_none():
    assert joined({}, {"changed": False}) == {"changed": False}


def test_a_failure_is_shown_without_the_facts():
    facts = {"ansible_facts": {"distribution": "Debian"}}
    failed = {"failed": True, "msg": "cards: found none", "ansible_facts": {"discovered_interpreter_python": "/p"}}
    assert joined(facts, failed) == {"failed": True, "msg": "cards: found none"}
