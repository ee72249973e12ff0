# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import NEWEST
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page_head import cluster_name, page_head, releases_of


def test_it_names_the_cluster_the_release_and_how_many_nodes_are_well():
    states = {"a": "failed", "b": "ok", "c": "ok"}
    head = page_head("my_cluster", ["1.24.1"], states, ["ok"])
    assert head == "Cluster my_cluster · release 1.24.1 · 3 nodes: 2 ok; 1 failed"


@pytest.mark.parametrize(
    ("given", "head"),
    [
        (("", [], {}, []), ""),
        (("lab", [], {"a": ""}, []), "Cluster lab · 1 node"),
        (("", ["1.23.0", "1.24.1"], {}, []), "Release 1.23.0 and 1.24.1"),
        (
            ("", [], dict(zip("abcdefgh", ["t", "u", "v", "w", "x", "y", "y", "y"])), []),
            "8 nodes: 3 y; 1 t; 1 u; 1 v; 1 w; 1 in other states",
        ),
    ],
)
def test_what_is_not_known_is_left_out(given, head):
    assert page_head(*given) == head


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (["/home/me/my_cluster"], "my_cluster"),
        (["/home/me/my_cluster/hosts.yml"], "my_cluster"),
        (["/home/me/my_cluster/hosts"], "my_cluster"),
        (["/home/me/rack7.ini"], "rack7"),
        (["node1,node2,"], ""),
        (["/runner/inventory/hosts", "/runner/rack7"], "rack7"),
        (None, ""),
    ],
)
def test_a_cluster_is_called_as_its_inventory_is(sources, name):
    assert cluster_name({"ansible_inventory_sources": sources}) == name


def test_awx_knows_the_name_that_its_directory_does_not_say():
    assert (
        cluster_name({"ansible_inventory_sources": ["/runner/inventory"], "awx_inventory_name": "Rack 7"}) == "Rack 7"
    )


def test_the_roles_own_release_is_named_where_no_inventory_names_one():
    assert releases_of([{}, {"gaudi_release": "1.22.0"}, {}]) == ["1.22.0", NEWEST]
