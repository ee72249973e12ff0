# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module shell monitoring_server, run as Ansible runs it."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.tests.unit.module_call import call


def test_it_says_what_it_did_and_nothing_that_ansible_is_to_take_away() -> None:
    result, status = call("monitoring_server", check_mode=True, state="absent")
    assert status == 0, result
    assert (result["steps"], result["unknown"]) == ([], [])
