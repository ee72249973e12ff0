# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.filter.launch_nodes import launch_nodes


def test_the_reason_of_a_node_is_no_template_in_the_fact_that_it_becomes():
    hostile = {"failed": True, "msg": "{{ lookup('pipe', 'id') }} {% raw %}"}
    chosen = launch_nodes(["n1", "n2"], {"n1": {"state": "prepared"}, "n2": hostile})
    assert "lookup" in chosen["refusal"]
    assert "lookup" in chosen["left_out"]["n2"]
    assert "{{" not in f"{chosen['refusal']}{chosen['left_out']['n2']}"
    assert "{%" not in f"{chosen['refusal']}{chosen['left_out']['n2']}"
