# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A page is read without the run's output: it says why a node has no result, and sends nobody to look above."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results import earlier_failure as module
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN, earlier_failure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS

FAILED = {"failed": True, "msg": "dkms could not build the driver."}
AWAY = {"unreachable": True, "msg": "no route to host"}
# Those that show a reason for a node without a result.
SHOWN = ("benchmark_fabric", "cap_power", "verdict")
REFUSED = ("audit_cluster", "find_bad_nodes", "measure_storage", "qualify_nodes")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, ""),
        ({"gaudi_release": "1.24.1", "gaudi_host_result": {"changed": True}}, ""),
        ({"gaudi_driver_result": FAILED}, "dkms could not build the driver."),
        ({"gaudi_driver_result": FAILED, "__gaudi_verify_seen": AWAY}, "unreachable: no route to host"),
        ({"somebody_else": FAILED, "gaudi_host_result": {"failed": True}}, ""),
    ],
)
def test_the_last_registered_failure_of_ours_is_the_reason(variables, why):
    assert earlier_failure(variables) == why


def asked(**failures: str) -> Asked:
    hosts = {name: {"inventory_hostname": name} for name in ("a", "b")}
    return Asked(hosts, {}, False, failures)


@pytest.mark.parametrize("kind", SHOWN)
def test_a_node_without_a_result_has_the_reason_beside_it(kind):
    notes = KINDS[kind].made(asked(b="dkms could not build the driver.")).options["notes"]
    assert any("b: " in note and "dkms could not build the driver." in note for note in notes)
    assert any("a: " in note and NOT_KNOWN in note for note in notes)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_was_measured_on_nobody_says_what_failed(kind):
    assert KINDS[kind].made(asked(b="no card.")).refusal.endswith("b: no card.")
    assert NOT_KNOWN in KINDS[kind].made(asked()).refusal


def test_no_sentence_of_a_page_sends_its_reader_above():
    folder = Path(module.__file__).parent
    texts = [
        (path.name, node.value)
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value
    ]
    assert [one for one in texts if "see above" in one[1] or "task above" in one[1]] == []
