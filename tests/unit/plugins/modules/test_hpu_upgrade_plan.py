# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module hpu_upgrade_plan, run as Ansible runs it: JSON in, JSON out."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

KEYS = {"changed", "facts", "wanted", "changes", "obstacles", "verdict", "life_cycles", "fingerprint", "invocation"}


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("driver", [False, True])
def test_it_returns_the_same_keys_on_every_node_and_in_check_mode(tmp_path, driver, check_mode):
    kernel = str(write_kernel(tmp_path, driver=driver))
    result, status = call("hpu_upgrade_plan", check_mode, release="1.24.1", cards=8, kernel_root=kernel, venv="/none")
    assert status == 0
    assert set(result) == KEYS
    assert result["changed"] is False
    assert result["facts"]["cards"] == 8
    assert result["verdict"]["state"] in ("compatible", "incompatible", "unknown")


def test_an_unknown_release_is_one_sentence_that_says_how_to_add_it(tmp_path):
    result, status = call("hpu_upgrade_plan", release="9.9", kernel_root=str(write_kernel(tmp_path)))
    assert status == 1
    assert "'9.9'" in result["msg"]
    assert "gaudi_release_overrides" in result["msg"]
    assert "\n" not in result["msg"]


def test_an_override_is_what_it_plans_for(tmp_path):
    row = {"9.9.0": {"build": "7", "generations": ["gaudi2"]}}
    kernel = str(write_kernel(tmp_path))
    result, status = call("hpu_upgrade_plan", release="9.9.0", release_overrides=row, kernel_root=kernel)
    assert status == 0
    assert result["wanted"]["package_version"] == "9.9.0-7"
    assert result["verdict"]["state"] == "incompatible"
    assert any("does not support Gaudi 3" in sentence for sentence in result["obstacles"])
