# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The batch size: one node searches, the other verifies, and what goes wrong is named.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

KERNEL = "/var/lib/gaudi_simulator/kernel"
# A card that takes its process with it, on one node.
CRASHING = """
import os, socket
import torch
def step(batch_size, device):
    def run():
        if socket.gethostname() == "node1":
            os.abort()
        (torch.ones(batch_size, 1 << 16, requires_grad=True) * 2).sum().backward()
    return run
"""


def probed_nodes(report: Path) -> list[dict[str, object]]:
    """What the module returned on each node."""
    found: list[dict[str, object]] = json.loads(report.read_text())["data"]
    return found


def test_one_node_searches_the_other_verifies_and_each_trial_is_shown(
    play: Callable[..., Played], reports: Path
) -> None:
    variables = str(reports / "group_vars" / "batch.yml")
    probed = play("probe_batch_size", gaudi_report_target=str(reports), gaudi_batch_write_group_vars=variables)
    assert probed.status == "successful", probed.screen
    first, second = probed_nodes(reports / "probe_batch_size.json")
    size = first["batch_size"]
    assert (second["batch_size"], second["verified"], len(second["trials"])) == (size, True, 1)
    shown = re.findall(r"(node\d): trial \d+: batch size (\d+)", probed.screen)
    made = [("node1", str(trial["batch_size"])) for trial in first["trials"]]
    assert shown == [*made, ("node2", str(size))]
    assert "Throughput on node1" in (reports / "probe_batch_size.html").read_text()
    assert f"gaudi_training_batch_size: {size}" in Path(variables).read_text()


def test_probing_it_again_makes_no_trial(play: Callable[..., Played], nodes: dict[str, Host], reports: Path) -> None:
    again = play("probe_batch_size", gaudi_report_target=str(reports))
    assert (again.status, again.changed) == ("successful", 0), again.screen
    assert "trial 1:" not in again.screen
    # On the node the module itself takes less than half a second, whatever the way there takes.
    kept = str(probed_nodes(reports / "probe_batch_size.json")[0]["cache_file"])
    assert nodes["node1"].file(kept).exists


@pytest.mark.long
def test_a_damaged_file_is_put_aside_and_a_line_of_the_operator_kept(
    play: Callable[..., Played], nodes: dict[str, Host], reports: Path, tmp_path: Path
) -> None:
    kept = str(probed_nodes(reports / "probe_batch_size.json")[1]["cache_file"])
    nodes["node2"].check_output(f"echo broken > {kept}")
    mended = play("probe_batch_size")
    assert (mended.status, "is damaged" in mended.screen) == ("successful", True), mended.screen
    assert "broken" in nodes["node2"].check_output(f"cat {kept}.*.bak")
    own = tmp_path / "own.yml"
    own.write_text("gaudi_training_batch_size: 8\n")
    refused = play("probe_batch_size", gaudi_batch_write_group_vars=str(own))
    assert refused.status == "failed"
    assert "in a line of your own" in refused.messages[0]
    assert own.read_text() == "gaudi_training_batch_size: 8\n"


@pytest.mark.long
def test_a_node_that_crashes_is_named_and_the_other_one_answers(
    play: Callable[..., Played], nodes: dict[str, Host], reports: Path
) -> None:
    for node in nodes.values():
        node.check_output(f"mkdir -p /var/tmp/probed && cat > /var/tmp/probed/crashing.py <<'END'{CRASHING}END")
        node.check_output("echo PYTHONPATH=/var/tmp/probed > /var/tmp/probed/environment")
    crashed = play(
        "probe_batch_size",
        gaudi_batch_workload="crashing:step",
        gaudi_batch_maximum=16,
        gaudi_training_environment_files=["/var/tmp/probed/environment"],
        gaudi_report_target=str(reports),
    )
    assert crashed.status == "failed"
    assert any("node1: The trial of batch size 16 crashed" in message for message in crashed.messages)
    _first, second = probed_nodes(reports / "probe_batch_size.json")
    assert second["batch_size"] == 16


def test_an_account_that_may_not_open_the_cards_is_told_which_group_may(play: Callable[..., Played]) -> None:
    refused = play(
        "probe_batch_size", gaudi_training_user="operator", gaudi_training_device="hpu", gaudi_batch_refresh=True
    )
    assert refused.status == "failed"
    said = f"user operator cannot open {KERNEL}/dev/accel/accel0 and 15 more on this node (group render, mode 0660)"
    assert any(said in message for message in refused.messages), refused.screen
