# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import (
    refusal,
    specified,
    split_refusal,
)

HOST = specified(
    "gaudi_host",
    "gaudi3.scale.gaudi_host",
    {
        "main": {"options": {"gaudi_host_huge_page_size": {}, "gaudi_host_memlock": {}}},
        "firewall": {"options": {"gaudi_host_firewall_ports": {}}},
        "bare": {"short_description": "has no options"},
    },
)
LONGER = specified(
    "gaudi_host_bios",
    "gaudi3.scale.gaudi_host_bios",
    {"main": {"options": {"gaudi_host_bios_profile": {}}}},
)


def test_a_misspelt_option_is_refused_with_the_nearest_one():
    assert refusal(HOST, "node1", ["gaudi_host_hugepage_size"]) == (
        "gaudi_host_hugepage_size is not an option of gaudi_host on node1; did you mean gaudi_host_huge_page_size?"
    )


def test_where_nothing_is_near_it_says_where_the_options_are_shown():
    assert refusal(HOST, "node1", ["gaudi_host_xyzzy"]) == (
        "gaudi_host_xyzzy is not an option of gaudi_host on node1; remove it, or use one that "
        "`ansible-doc -t role gaudi3.scale.gaudi_host` shows."
    )


def test_all_are_named_at_once():
    assert refusal(HOST, "node1", ["gaudi_host_memlok", "gaudi_host_memlock", "gaudi_host_firewall_port"]) == (
        "gaudi_host_firewall_port is not an option of gaudi_host on node1; did you mean gaudi_host_firewall_ports? "
        "gaudi_host_memlok is not an option of gaudi_host on node1; did you mean gaudi_host_memlock?"
    )


@pytest.mark.parametrize(
    "name",
    [
        "gaudi_host_memlock",
        "gaudi_host_firewall_ports",
        "gaudi_host_result",
        # Of the whole inventory, of a site, of Ansible, of the role itself, of another role.
        "gaudi_hosts",
        "gaudi_release",
        "my_gaudi_host_memlok",
        "ansible_host",
        "__gaudi_host_addresses",
        "gaudi_driver_relase",
        7,
    ],
)
def test_what_is_known_or_none_of_its_business_passes(name):
    assert refusal(HOST, "node1", [name]) == ""


def test_what_a_role_whose_name_begins_alike_knows_passes():
    assert refusal(HOST, "node1", ["gaudi_host_bios_profile", "gaudi_host_bios_result"], [LONGER]) == ""
    assert "did you mean gaudi_host_bios_profile?" in refusal(HOST, "node1", ["gaudi_host_bios_profil"], [LONGER])
    assert "is not an option of gaudi_host " in refusal(HOST, "node1", ["gaudi_host_bios_profile"])


def test_what_a_module_sets_as_a_fact_passes():
    role = specified("gaudi_batch", "gaudi_batch", {"main": {"options": {"gaudi_batch_goal": {}}}})
    assert refusal(role, "node1", ["gaudi_batch_size"]) == ""


def test_the_prefix_that_all_have_makes_no_name_near():
    role = specified(
        "gaudi_venv",
        "gaudi_venv",
        {"main": {"options": {"gaudi_venv_directory": {}}}},
    )
    assert "did you mean" not in refusal(role, "node1", ["gaudi_venv_hosts"])


def test_a_name_cannot_leave_its_line():
    said = refusal(HOST, "node1", ["gaudi_host_memlock\n\x1b[2J"])
    assert said.startswith("'gaudi_host_memlock\\n\\x1b[2J' is not an option of gaudi_host on node1; did you mean ")


@pytest.mark.parametrize("value", [0.5, "0.5", " 1.25 "])
def test_a_card_is_not_split(value):
    said = split_refusal({"gaudi_training_processes_per_node": value})
    assert said == (
        f"gaudi_training_processes_per_node is {value}, and cards cannot be split: each rank has a whole one; give a "
        "whole number."
    )
    assert "cards cannot be split" in split_refusal({"gaudi_batch_processes": value})


@pytest.mark.parametrize("value", [4, "4", "4.0", "{{ cards }}", None, True])
def test_whole_numbers_and_what_others_check_are_left_alone(value):
    assert split_refusal({"gaudi_training_processes_per_node": value, "nginx_processes": 0.5}) == ""
