# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job that is followed while it hangs, loses its controller, and fails in the end: what is seen on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox_jobs import (
    HOSTS,
    NODES,
    SPARE,
    TRAINEE,
    kill,
    launching,
    lines,
    play,
    processes,
    rank_of,
    screen,
    shell,
    status,
    steps,
    variables,
    wait_for,
    wait_for_members,
    wait_for_steps,
)

NAME = "saturday"
WATCHED = variables(NAME, gaudi_training_hang_timeout=15, gaudi_training_max_restarts=1, gaudi_training_follow=True)
# Something else on the spare has the port at which ranks would meet there.
LISTENER = "systemd-run --quiet --unit other-server python3 -m http.server 29500 --bind 0.0.0.0"


def members() -> list[str]:
    """The nodes that have ranks now, in their order."""
    return status("node1", NAME)["members"]


@pytest.mark.in_turn("saturday")
def test_a_controller_killed_half_way_is_taken_up_by_the_next_launch(tmp_path: Path) -> None:
    first = launching(tmp_path / "first", **WATCHED)
    begun = f"cat /var/lib/gaudi3_scale/control/{NAME}/started.json 2>/dev/null || true"
    wait_for("node1 has begun", lambda: shell("node1", begun))
    kill(first)
    assert steps("node1", NAME) == []
    launch = status("node1", NAME).get("launch") or wait_for("a status", lambda: status("node1", NAME))["launch"]
    code, said = play(tmp_path / "second", **{**WATCHED, "gaudi_training_follow": False})
    assert code == 0, said
    wait_for_steps("node1", NAME)
    # A host that came late may have had to leave its place to the spare.
    assert len(members()) == len(HOSTS)
    assert {status(node, NAME)["launch"] for node in NODES} == {launch}


@pytest.mark.in_turn("saturday")
def test_a_hang_is_seen_with_the_stacks_of_the_ranks(tmp_path: Path) -> None:
    following = launching(tmp_path, **WATCHED)
    wait_for("the job is followed", lambda: "Following job saturday" in screen(tmp_path))
    wait_for_steps("node1", NAME)
    taken, last = members(), members()[-1]
    shell(last, f"kill -STOP {rank_of(last, NAME)}")
    (hang,) = wait_for(
        "a hang", lambda: [event for event in lines("node1", NAME, "events.jsonl") if event["kind"] == "hang"]
    )
    # Ranks tell their step once a second, so that a rank which stops is not behind the others each time.
    assert last in hang["text"] or "all ranks are at the same step" in hang["text"]
    wait_for_members(taken, NAME, above=1)
    wait_for_steps("node1", NAME)
    stack = shell("node1", f"cat /var/log/gaudi3_scale/jobs/{NAME}/stacks/generation-1/rank-0.txt")
    assert TRAINEE in stack
    wait_for("the hang is shown", lambda: hang["text"] in screen(tmp_path))
    assert following.poll() is None
    kill(following)


@pytest.mark.in_turn("saturday")
def test_what_fails_again_fails_the_job_and_the_first_rank_is_named(tmp_path: Path) -> None:
    """The controller was killed; the job went on, and the next launch follows it."""
    before = len(steps("node1", NAME))
    following = launching(tmp_path, **WATCHED)
    wait_for("the job is followed", lambda: "Following job saturday" in screen(tmp_path))
    assert len(steps("node1", NAME)) > before
    second = members()[1]
    shell(second, f"kill -KILL {rank_of(second, NAME)}")
    assert following.wait(timeout=120) != 0
    said = screen(tmp_path)
    assert f"Job saturday failed: rank 1 on {second} failed first: killed by SIGKILL" in said
    assert "Restarts: 1." in said
    wait_for("nothing is left", lambda: not any(processes(node, NAME) for node in NODES), 30)
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said


@pytest.mark.long
def test_a_sick_spare_stops_nothing_and_is_named(tmp_path: Path) -> None:
    shell(SPARE, LISTENER)
    try:
        short = variables("sunday", gaudi_training_follow=True, gaudi_training_command=[TRAINEE, "12", "0.1"])
        code, said = play(tmp_path, **short)
    finally:
        shell(SPARE, "systemctl stop other-server")
    assert code == 0, said
    assert "started without node4: gaudi_training_rendezvous_port 29500 is in use by python3 (process " in said
    assert "step 12/12" in said
    assert "Job sunday: succeeded" in said
    assert {node: processes(node, "sunday") for node in NODES} == {node: {} for node in NODES}
