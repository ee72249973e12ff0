# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module shells hpu_info, hpu_preflight and hpu_verify, run as Ansible runs them: JSON in, JSON out."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.node_system import read_kernel, read_system
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


@pytest.fixture
def virgin(tmp_path):
    return str(write_kernel(tmp_path, driver=False))


def test_info_returns_the_cards_of_a_node_without_a_driver(virgin):
    result, status = call("hpu_info", kernel_root=virgin)
    assert status == 0
    assert result["changed"] is False
    assert [card["pci_address"] for card in result["hpu"]["cards"]] == list(ADDRESSES)
    assert result["hpu"]["kernel"]["release"] == read_kernel(virgin).release
    assert result["hpu"]["driver"] == {
        "version": None,
        "release": None,
        "nic_version": None,
        "hl_smi_version": None,
        "modules": [],
    }


def test_preflight_lets_a_node_through_and_returns_its_facts(virgin):
    result, status = call("hpu_preflight", kernel_root=virgin, release="1.24.1", cards=8, allow_unsupported_os=True)
    systemd = read_system().systemd
    assert (status == 0) is systemd
    assert result.get("hpu", {}).get("count") == (8 if systemd else None)
    assert [check["name"] for check in result["checks"] if not check["ok"]] == ([] if systemd else ["init system"])


def test_preflight_tells_all_reasons_in_one_message(tmp_path):
    root = str(write_kernel(tmp_path, ADDRESSES[:7], driver=False, command_line="quiet"))
    result, status = call(
        "hpu_preflight",
        kernel_root=root,
        release="9.9.9",
        cards=8,
        group_releases=["9.9.9", "1.24.1"],
        disk_paths=[{"path": str(tmp_path / "venv"), "need_mib": 10**9}],
    )
    assert status == 1
    assert "\n" not in result["msg"]
    for words in ("'9.9.9' is not known", "releases of the group", "cards: found 7", "disk space: found"):
        assert words in result["msg"]
    assert "iommu=pt" not in result["msg"]
    assert any("iommu=pt" in str(warning) for warning in result["warnings"])


def test_verify_fails_with_all_reasons_and_returns_what_it_measured(virgin):
    result, status = call("hpu_verify", kernel_root=virgin, release="1.24.1", cards=8, venv="/nowhere")
    assert status == 1
    assert "kernel modules" in result["msg"]
    assert "/nowhere/bin/python: not installed" in result["msg"]
    assert result["summary"]["cards"] == 8
    assert result["summary"]["ok"] is False


def test_verify_leaves_the_judgment_to_the_caller_where_told_to(virgin):
    result, status = call("hpu_verify", kernel_root=virgin, release="1.24.1", cards=8, fail=False)
    assert status == 0
    assert result["summary"]["ok"] is False


def test_verify_in_check_mode_says_that_nothing_is_installed_yet(virgin):
    result, status = call("hpu_verify", True, kernel_root=virgin, release="1.24.1", cards=8)
    assert status == 0
    assert any("nothing is installed here yet" in str(warning) for warning in result["warnings"])


def test_verify_refuses_an_unknown_release(virgin):
    result, status = call("hpu_verify", kernel_root=virgin, release="9.9.9", cards=8)
    assert status == 1
    assert "'9.9.9' is not known" in result["msg"]
    assert "1.24.1" in result["known"]
