# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors that are stopped, killed, or lose power on all nodes at once; and two hosts with a witness.

Each test harms the job, and the next one finds it running again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import (
    GONE_S,
    HOSTS,
    network_cut,
    play,
    processes,
    shell,
    start_node,
    status,
    steps,
    stop_node,
    variables,
    wait_for,
    wait_for_members,
    wait_for_steps,
)

# What these do to a node, the gate `schedules` does to a simulated one in each of its schedules.
pytestmark = pytest.mark.long

NAME, PAIR = "saturday", "sunday"
WITNESS = "node3"


def supervisor(node: str, name: str) -> str:
    """Its process id; 0 where there is none just now."""
    return shell(node, f"systemctl show gaudi3-scale-job-{name} -p MainPID --value").strip()


def signal(node: str, name: str, word: str) -> float:
    """When the node's supervisor was given the signal."""
    shell(node, f"kill -{word} {supervisor(node, name)}")
    return time.monotonic()


def info(node: str, name: str) -> dict[str, Any]:
    """What the unit says of itself."""
    reported = shell(node, f"systemctl show gaudi3-scale-job-{name} -p ActiveState,NRestarts")
    return dict(line.split("=", 1) for line in reported.splitlines())


def test_a_killed_supervisor_is_back_as_a_member_with_new_ranks(tmp_path: Path) -> None:
    code, said = play(tmp_path, **variables(NAME, gaudi_training_spares=[]))
    assert code == 0, said
    wait_for_members(HOSTS, NAME)
    wait_for_steps("node1", NAME)
    generation, old = status("node1", NAME)["generation"], set(processes("node2", NAME))
    killed = signal("node2", NAME, "KILL")
    wait_for("its ranks are gone", lambda: not old & set(processes("node2", NAME)), GONE_S)
    gone = time.monotonic() - killed
    wait_for_members(HOSTS, NAME, above=generation)
    print(f"ranks gone after {gone:.1f} s, a member again after {time.monotonic() - killed:.1f} s")
    assert time.monotonic() - killed < GONE_S
    assert info("node2", NAME) == {"ActiveState": "active", "NRestarts": "1"}
    wait_for_steps("node1", NAME)


def test_a_stopped_supervisor_loses_its_ranks_before_the_others_go_on() -> None:
    generation, old = status("node1", NAME)["generation"], set(processes("node2", NAME))
    stopped = signal("node2", NAME, "STOP")

    def has_begun() -> bool:
        there = old & set(processes("node2", NAME))
        reported = status("node1", NAME)
        begun = reported["generation"] > generation and reported["state"] == "running"
        assert not (begun and there), f"ranks {there} of the generation before are there"
        return begun

    wait_for("a new generation", has_begun)
    print(f"the next generation after {time.monotonic() - stopped:.1f} s")
    wait_for_members(HOSTS, NAME, above=generation)
    assert info("node2", NAME)["ActiveState"] == "active"
    wait_for_steps("node1", NAME)


def test_a_supervisor_that_is_cut_off_and_then_stopped_loses_its_ranks_with_its_lease() -> None:
    """systemd waits for no word of it as long as WatchdogSec says, which would be 14 s after the cut."""
    generation, old = status("node1", NAME)["generation"], set(processes("node2", NAME))
    with network_cut("node2"):
        cut = time.monotonic()
        time.sleep(6)
        signal("node2", NAME, "STOP")
        wait_for("its ranks are gone", lambda: not old & set(processes("node2", NAME)), GONE_S)
        gone = time.monotonic() - cut
    print(f"ranks gone {gone:.1f} s after the cut")
    assert gone < 13
    wait_for_members(HOSTS, NAME, above=generation)
    wait_for_steps("node1", NAME)


def test_a_job_goes_on_when_all_its_nodes_have_lost_power() -> None:
    generation, last = status("node1", NAME)["generation"], steps("node1", NAME)[-1][0]
    for node in HOSTS:
        stop_node(node)
    for node in HOSTS:
        start_node(node)
    wait_for_members(HOSTS, NAME, above=generation)
    wait_for_steps("node1", NAME)
    reported = json.loads(shell("node1", f"cat /var/lib/gaudi3_scale/jobs/{NAME}/votes.json"))
    assert reported["launch"] == status("node1", NAME)["launch"]
    assert steps("node1", NAME)[-1][0] > last - 10


def test_what_is_stopped_does_not_begin_at_the_next_boot(tmp_path: Path) -> None:
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
    stop_node("node2")
    start_node("node2")
    unit = f"gaudi3-scale-job-{NAME}"
    looked = f"systemctl show {unit} -p ConditionTimestampMonotonic --value"
    wait_for("the boot has come to the unit", lambda: shell("node2", looked).strip() not in ("", "0"))
    assert shell("node2", f"systemctl show {unit} -p ConditionResult --value").strip() == "no"
    assert info("node2", NAME)["ActiveState"] == "inactive"


def test_two_hosts_with_a_witness_outlive_the_loss_of_the_first(tmp_path: Path) -> None:
    chosen = variables(
        PAIR,
        gaudi_training_hosts=["node1", "node2"],
        gaudi_training_spares=[],
        gaudi_training_min_nodes=1,
        gaudi_training_witness=WITNESS,
    )
    code, said = play(tmp_path, **chosen)
    assert code == 0, said
    generation = wait_for_members(["node1", "node2"], PAIR)["generation"]
    wait_for_steps("node1", PAIR)
    assert processes(WITNESS, PAIR) == {}
    stop_node("node1")
    wait_for_members(["node2"], PAIR, above=generation)
    wait_for_steps("node2", PAIR)
    assert processes(WITNESS, PAIR) == {}
    start_node("node1")
    wait_for("node1 is heard", lambda: "node1" in status("node2", PAIR)["alive"])
    code, said = play(tmp_path, "stop_training", gaudi_training_name=PAIR, gaudi_training_witness=WITNESS)
    assert code == 0, said
    assert {node: processes(node, PAIR) for node in ("node1", "node2", WITNESS)} == {
        "node1": {},
        "node2": {},
        WITNESS: {},
    }
