# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks on the two NUMA nodes of a simulated server: what taskset says of each, and what the job's page says.

The NUMA nodes' processors are those of the machine that runs the nodes; the kernel binds for real.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

KERNEL = "/var/lib/gaudi_simulator/kernel/sys/devices/system"
SCRIPT = "/var/tmp/bound.py"
# It needs no card: only who binds it asks which card is its own.
PROGRAM = """
import os, sys, time
print(sys.argv[1:], os.environ.get("OMP_NUM_THREADS"), flush=True)
time.sleep(600)
"""
# Each rank's number and what the kernel lets it run on. The agent has the rank's command among its words, further back.
RANKS = r"""
for pid in $(pgrep -f '^[^ ]*/venv/bin/python -u /var/tmp/bound.py'); do
  rank=$(tr '\0' '\n' < /proc/$pid/environ | sed -n 's/^LOCAL_RANK=//p')
  echo "$rank $(taskset -pc "$pid" | sed 's/.*: //')"
done
"""


def bound(nodes: dict[str, Host]) -> dict[str, dict[str, str]]:
    """The processors of each local rank that runs the program, by node, once two do on each."""
    return {name: _bound(node) for name, node in nodes.items()}


def _bound(node: Host) -> dict[str, str]:
    end = time.monotonic() + 120
    while True:
        found = dict(line.split(" ", 1) for line in node.check_output(RANKS).splitlines())
        if len(found) >= 2 or time.monotonic() > end:
            return found
        time.sleep(0.5)


def first_lines(node: Host, name: str) -> list[str]:
    """What each rank said first, in the order of the ranks."""
    return node.check_output(f"cat /var/log/gaudi3_scale/jobs/{name}/ranks/*/attempt_0/*/stdout.log").splitlines()


def launch(play: Callable[..., Played], nodes: dict[str, Host], name: str, **variables: object) -> None:
    for node in nodes.values():
        node.check_output(f"cat > {SCRIPT} <<'END'{PROGRAM}END")
    begun = play(
        "launch_training",
        gaudi_training_name=name,
        gaudi_training_command=[SCRIPT, "a $word"],
        gaudi_training_follow=False,
        **variables,
    )
    assert begun.status == "successful", begun.screen


def test_each_rank_runs_on_the_numa_node_of_its_card(
    play: Callable[..., Played], nodes: dict[str, Host], tmp_path: Path
) -> None:
    lists = [nodes["node1"].check_output(f"cat {KERNEL}/node/node{number}/cpulist") for number in (0, 1)]
    # Modules 4 to 7 are at the second NUMA node.
    cards = {"HABANA_VISIBLE_MODULES": "5,0"}
    launch(
        play, nodes, "bound", gaudi_training_bind="numa", gaudi_training_device="hpu", gaudi_training_environment=cards
    )
    try:
        assert bound(nodes) == {name: {"0": lists[1], "1": lists[0]} for name in nodes}
        said = first_lines(nodes["node2"], "bound")
        assert [line.split("] ")[0] for line in said] == ["['a $word'"] * 2
        shown = play("show_training", gaudi_training_name="bound")
        assert shown.status == "successful", shown.screen
        page = json.loads((tmp_path / "training-bound.json").read_text())
        rows = next(section["rows"] for section in page["sections"] if section["title"] == "Binding")
        reported = {(row["node"], row["local rank"]): (row["NUMA node"], row["CPUs"]) for row in rows}
        assert reported == {(name, rank): (near, lists[near]) for name in nodes for rank, near in ((0, 1), (1, 0))}
        # A share's cores are a rank's threads.
        threads = [str(row["cores"]) for row in rows if row["node"] == "node2"]
        assert [line.split("] ")[1] for line in said] == threads
    finally:
        stopped = play("stop_training", gaudi_training_name="bound")
    assert stopped.status == "successful", stopped.screen


@pytest.mark.long
def test_without_binding_a_rank_runs_anywhere(play: Callable[..., Played], nodes: dict[str, Host]) -> None:
    everywhere = nodes["node1"].check_output("taskset -pc 1 | sed 's/.*: //'")
    launch(play, nodes, "unbound", gaudi_training_bind="none")
    try:
        assert bound(nodes) == {name: {"0": everywhere, "1": everywhere} for name in nodes}
    finally:
        stopped = play("stop_training", gaudi_training_name="unbound")
    assert stopped.status == "successful", stopped.screen
