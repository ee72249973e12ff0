# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a proxy gets of the nodes: what they said in this run, and the names of those that said nothing."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.proxied import proxied

ROW = {
    "name": "chat",
    "url": "http://10.0.0.11:8000",
    "served_name": "m",
    "max_num_seqs": 4,
    "admitted": True,
    "windows": 6,
}


def test_rows_have_their_node_and_no_more_than_a_proxy_takes():
    rows, silent = proxied(["a"], "told", {"a": {"told": {"instances": [ROW]}}})
    assert silent == []
    assert rows == [{"node": "a", **{name: value for name, value in ROW.items() if name != "windows"}}]


def test_nodes_that_said_nothing_are_named():
    known = {
        "a": {},
        "b": {"told": {"failed": True, "instances": []}},
        "c": {"told": {"skipped": True}},
        "d": {"told": {"instances": []}},
    }
    assert proxied(["a", "b", "c", "d", "e"], "told", known) == ([], ["a", "b", "c", "e"])


def test_an_instance_at_all_addresses_is_met_at_its_node():
    hostvars = {
        "a": {"ansible_host": "10.0.0.11", "told": {"instances": [{**ROW, "url": "https://0.0.0.0:8000"}]}},
        "b": {"ansible_host": "fd00::1", "told": {"instances": [{**ROW, "url": "https://[::]:8000"}]}},
        "c": {"told": {"instances": [{**ROW, "url": "https://0.0.0.0:8000"}]}},
    }
    rows, _silent = proxied(["a", "b", "c"], "told", hostvars)
    assert [row["url"] for row in rows] == ["https://10.0.0.11:8000", "https://[fd00::1]:8000", "https://c:8000"]
