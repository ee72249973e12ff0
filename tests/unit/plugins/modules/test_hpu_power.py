# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module's shell hpu_power, run as Ansible runs it, with a program hl-smi that keeps its limits in files."""

from __future__ import annotations

import os

import pytest
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

HL_SMI = """#!/bin/sh
cd {limits}
case "$1" in
    -Q) echo 'bus_id, power.max [W]'; for card in *; do echo "$card, $(cat "$card") W"; done ;;
    -i) echo "$4" > "$2" ;;
esac
"""


@pytest.fixture
def node(tmp_path, monkeypatch):
    """The kernel's root, and the directory with a limit a card."""
    limits, programs = tmp_path / "limits", tmp_path / "bin"
    limits.mkdir()
    programs.mkdir()
    for address in ADDRESSES:
        (limits / address).write_text("850\n")
    (programs / "hl-smi").write_text(HL_SMI.format(limits=limits))
    (programs / "hl-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return str(write_kernel(tmp_path / "kernel")), limits


def kept(limits):
    return {path.name: int(path.read_text()) for path in limits.iterdir()}


def test_check_mode_tells_it_a_run_does_it_and_another_has_nothing_to_do(node):
    root, limits = node
    foreseen, status = call("hpu_power", True, kernel_root=root, watts=600)
    assert (status, foreseen["changed"], set(kept(limits).values())) == (0, True, {850})
    done, status = call("hpu_power", kernel_root=root, watts=600)
    assert (status, done["changed"], kept(limits)) == (0, True, dict.fromkeys(ADDRESSES, 600))
    assert done["cards"] == foreseen["cards"] and done["watts"] == 600
    again, status = call("hpu_power", kernel_root=root, watts=600)
    assert (status, again["changed"]) == (0, False)


def test_a_limit_that_no_card_may_have_is_refused_and_nothing_is_touched(node):
    root, limits = node
    result, status = call("hpu_power", kernel_root=root, watts=300)
    assert status == 1 and set(kept(limits).values()) == {850}
    assert result["msg"].startswith("watts (gaudi_power_watts) is 300, power outside the card's range")


def test_a_card_that_did_not_take_it_is_in_the_answer_of_the_failure(node):
    root, limits = node
    (limits / ADDRESSES[3]).unlink()
    (limits / ADDRESSES[3]).symlink_to("/dev/null")
    result, status = call("hpu_power", kernel_root=root, watts=600)
    assert status == 1 and result["changed"] is True
    assert [card["module_id"] for card in result["cards"] if not card["taken"]] == [3]
    assert "card 3 (0000:5d:00.0) reports no limit" in result["msg"]
