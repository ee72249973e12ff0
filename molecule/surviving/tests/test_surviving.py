# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One job through everything that can happen to it: each test harms it, and the next one finds it running again.

Each asks what was left running, what was lost, and what the user is told.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.sandbox_jobs import (
    GONE_S,
    HOSTS,
    NODES,
    SPARE,
    launching,
    lines,
    network_cut,
    play,
    processes,
    rank_of,
    screen,
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

NAME = "friday"
REPLACED = ["node1", SPARE, "node3"]


def lost_steps(before: int, node: str = "node1") -> int:
    """How many steps were made again since rank 0 went on; each has to have the loss that it had before."""
    reported = lines(node, NAME)
    start = max(number for number, line in enumerate(reported) if line["kind"] == "start")
    loss_of = dict(steps(node, NAME))
    again = [
        (line["step"], line["loss"]) for line in reported[start:] if line["kind"] == "step" and line["step"] <= before
    ]
    assert [loss for _step, loss in again] == pytest.approx([loss_of[step] for step, _loss in again])
    assert reported[start]["step"] % 5 == 0
    return before - reported[start]["step"]


def all_gone(before: dict[str, set[int]], nodes: list[str]) -> bool:
    return not any(before[node] & set(processes(node, NAME)) for node in nodes)


def now_running() -> dict[str, set[int]]:
    return {node: set(processes(node, NAME)) for node in NODES}


def test_two_launches_at_the_same_time_make_one_job(tmp_path: Path) -> None:
    both = [launching(tmp_path / one, **variables(NAME)) for one in ("first", "second")]
    reported = [screen(tmp_path / one) for one in ("first", "second") if both.pop(0).wait() != 0]
    assert reported == []
    wait_for_members(HOSTS, NAME)
    wait_for_steps("node1", NAME)
    assert [len([c for c in processes(node, NAME).values() if "trainee" in c and " -u " in c]) for node in NODES] == [
        1,
        1,
        1,
        0,
    ]
    assert {status(node, NAME)["launch"] for node in NODES} == {status("node1", NAME)["launch"]}


@pytest.mark.long
def test_another_description_is_refused_with_the_difference(tmp_path: Path) -> None:
    before = now_running()
    code, said = play(tmp_path, **variables(NAME, gaudi_training_command=["/var/tmp/trainee.py", "9", "0.2"]))
    assert code != 0
    assert "is running with another description: command has '5000' where '9' is asked for" in said
    assert now_running() == before


@pytest.mark.in_turn
def test_a_killed_rank_ends_all_and_the_job_goes_on_from_its_checkpoint() -> None:
    wait_for_steps("node1", NAME)
    before, generation = now_running(), status("node1", NAME)["generation"]
    shell("node2", f"kill -KILL {rank_of('node2', NAME)}")
    killed = time.monotonic()
    wait_for("all processes gone", lambda: all_gone(before, NODES), GONE_S)
    took = time.monotonic() - killed
    last = steps("node1", NAME)[-1][0]
    reported = wait_for_members(HOSTS, NAME, above=generation)
    wait_for_steps("node1", NAME)
    assert lost_steps(last) <= 5
    assert reported["restarts"] == 1
    events = [event["text"] for event in lines("node1", NAME, "events.jsonl") if event["kind"] == "rank_failed"]
    assert any("rank 1 on node2 failed first: killed by SIGKILL" in text for text in events), events
    print(f"all gone after {took:.1f} s")


def test_a_spare_takes_the_place_of_a_dead_node() -> None:
    generation, last = status("node1", NAME)["generation"], wait_for_steps("node1", NAME)
    stop_node("node2")
    wait_for_members(REPLACED, NAME, above=generation)
    wait_for_steps("node1", NAME)
    assert lost_steps(last) <= 10
    reported = [event["text"] for event in lines("node1", NAME, "events.jsonl")]
    assert "node4 takes the place of node2." in reported


@pytest.mark.in_turn
def test_a_launch_goes_on_without_a_node_that_is_away_and_names_it(tmp_path: Path) -> None:
    before = now_running_but("node2")
    following = launching(tmp_path, **variables(NAME, gaudi_training_follow=True, gaudi_training_timeout=5))
    assert following.wait() != 0
    said = screen(tmp_path)
    assert "still runs after 5 s. It continues" in said
    assert "node4 takes the place of node2." in said
    assert now_running_but("node2") == before


def now_running_but(away: str) -> dict[str, set[int]]:
    return {node: set(processes(node, NAME)) for node in NODES if node != away}


def test_a_node_that_comes_back_stands_by(tmp_path: Path) -> None:
    start_node("node2")
    before = now_running_but("node2")
    code, said = play(tmp_path, **variables(NAME))
    assert code == 0, said
    wait_for("node2 is heard", lambda: "node2" in status("node1", NAME)["alive"])
    assert now_running_but("node2") == before
    assert processes("node2", NAME) == {}


def test_the_network_of_the_first_node_is_cut_and_healed() -> None:
    generation = status("node1", NAME)["generation"]
    wait_for_steps("node1", NAME)
    with network_cut("node1"):
        # Its own ranks end, since others may go on in its place: no step is made twice at the same time.
        wait_for("node1 has no ranks", lambda: not processes("node1", NAME), 60)
        last = steps("node1", NAME)[-1][0]
        members = ["node2", SPARE, "node3"]
        wait_for_members(members, NAME, above=generation)
        assert processes("node1", NAME) == {}
        wait_for_steps("node2", NAME)
    wait_for("node1 is heard", lambda: "node1" in status("node2", NAME)["alive"])
    reported = wait_for_members(members, NAME)
    assert reported["generation"] == status("node1", NAME)["generation"]
    first = next(line for line in lines("node2", NAME) if line["kind"] == "start")
    assert last - 10 <= first["step"] <= last


def test_stopping_writes_a_checkpoint_and_leaves_nothing(tmp_path: Path) -> None:
    wait_for_steps("node2", NAME)
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
    assert {node: processes(node, NAME) for node in NODES} == {node: {} for node in NODES}
    stopped = lines("node2", NAME)[-1]
    assert stopped["kind"] == "stopped"
    assert status("node2", NAME)["outcome"] == "stopped"
    kept = shell("node2", f"ls /var/lib/gaudi3_scale/jobs/{NAME}/checkpoints")
    assert f"{stopped['step']:08}.pt" in kept
