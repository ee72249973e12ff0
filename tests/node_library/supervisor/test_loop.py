# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors as real processes on 127.0.0.x, with real ranks to kill; only torchrun itself is a stand-in."""

from __future__ import annotations

import json
import os
import signal
import socket
import time

import pytest

from gaudi3_scale.core._node.process_tree import environment_of
from tests.unit.supervised import Cluster

# What a busy machine adds to what is measured.
SLACK_S = 3.0


@pytest.fixture
def cluster(tmp_path):
    made = []

    def make(hosts, spares=(), **rules):
        made.append(Cluster(tmp_path, hosts, spares, **rules))
        return made[-1]

    yield make
    for one in made:
        one.kill_all()


def started(nodes):
    nodes.start()
    nodes.wait_for_step()
    return nodes


def assert_nothing_left(nodes):
    assert nodes.left() == []
    assert nodes.port_is_free()


def test_a_killed_rank_ends_all_and_the_job_goes_on(cluster):
    nodes = started(cluster(["a", "b", "c"], failure_grace=20))
    ranks, first = nodes.ranks(), set(nodes.left())
    assert sorted(ranks) == [0, 1, 2, 3, 4, 5]
    os.kill(ranks[2], signal.SIGKILL)
    # Ranks, agents and what ranks had started. Ranks that obey SIGTERM do not use up their grace.
    assert nodes.wait(lambda: not first & set(nodes.left())) < 2.0 + SLACK_S
    nodes.wait_for_step(2)
    assert sorted(nodes.ranks()) == [0, 1, 2, 3, 4, 5]
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0, "c": 0}
    assert_nothing_left(nodes)
    for name in "abc":
        assert nodes.kinds(name) == ["run", "rank_failed", "run", "ended"]
        reported = nodes.events(name)[1]
        assert (reported["host"], reported["generation"]) == ("b", 1)
        assert reported["text"].startswith("rank 2 on b failed first: killed by SIGKILL")
        assert nodes.status(name)["outcome"] == "succeeded"
    # The logs of both runs are there.
    assert len(list((nodes.place("b") / "ranks").glob("*/attempt_0/0/stderr.log"))) == 2


def test_a_program_that_tells_no_steps_is_started_again(cluster):
    nodes = cluster(["a", "b"], min_runtime=3)
    for rank in range(4):
        nodes.wish(rank, "no step")
    nodes.start()
    nodes.wait(lambda: len(nodes.ranks()) == 4)
    time.sleep(3 + SLACK_S)
    os.kill(nodes.ranks()[2], signal.SIGKILL)
    nodes.wait(lambda: nodes.status("a")["generation"] == 2 and len(nodes.ranks()) == 4)
    assert nodes.status("a")["restarts"] == 1
    assert nodes.status("a")["reason"] == "rank 2 on b failed first: killed by SIGKILL"
    assert not list(nodes.place("a").glob("progress/*"))
    seen = json.loads((nodes.place("a") / "usage.jsonl").read_text().splitlines()[0])
    assert seen["generation"] == 1 and seen["memory_bytes"] > 1 << 20
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0}
    assert_nothing_left(nodes)


@pytest.mark.long
def test_a_program_that_fails_twice_at_the_same_place_is_not_tried_again(cluster):
    nodes = cluster(["a", "b"], ["c"])
    nodes.wish("0", "no step")
    nodes.wish("1", "no step")
    nodes.wish("2", "no step")
    nodes.wish("3", "raise always")
    nodes.start()
    nodes.wait(lambda: "rank_failed" in nodes.kinds("c"))
    assert nodes.events("c")[-1]["text"].startswith("rank 3 on b failed first: ValueError: bad thing on rank 3")
    nodes.wait(lambda: nodes.status("c")["generation"] == 2)
    assert nodes.events("c")[-1]["text"].endswith(
        "and is tried again (3 times end the job, twice at the same place do, too)."
    )
    assert nodes.codes(seconds=60) == {"a": 1, "b": 1, "c": 1}
    assert_nothing_left(nodes)
    for name in nodes.names:
        status = nodes.status(name)
        assert (status["outcome"], status["restarts"]) == ("failed", 1)
        assert "it failed twice at the same place, ValueError in " in status["reason"]
        assert "of rank 3, and got no further: trying again cannot help" in status["reason"]
        failure = status["failure"]
        assert (failure["host"], failure["rank"], failure["exception"]) == ("b", 3, "ValueError")
        assert failure["message"] == "bad thing on rank 3"
        assert failure["lines"][-1] == "ValueError: bad thing on rank 3"
        assert failure["path"].endswith("/attempt_0/1/stderr.log")


@pytest.mark.parametrize("how", ["raises", "is killed"])
def test_the_rank_that_failed_is_named_though_others_were_first_to_say_so(cluster, how):
    """A peer may see the end of a rank before the rank's own agent does."""
    nodes = started(cluster(["a", "b"], failure_grace=20))
    failed = nodes.ranks("b")[3]
    agent = nodes.parent(failed)
    if how == "raises":
        nodes.wish(3, "raise late")
        nodes.wait(lambda: "ValueError" in nodes.stderr("b", 1))
    else:
        os.kill(agent, signal.SIGSTOP)
        os.kill(failed, signal.SIGKILL)
    nodes.wish(0, "lose")
    nodes.wait(lambda: nodes.status("b")["state"] == "stopping")
    os.kill(agent, signal.SIGCONT)
    nodes.wait_for_step(2)
    reported = [event["text"].splitlines()[0] for event in nodes.events("a") if event["kind"] == "rank_failed"]
    said = "ValueError: bad thing on rank 3; then killed by SIGTERM" if how == "raises" else "killed by SIGKILL"
    assert reported == [f"rank 3 on b failed first: {said}"]


def test_ranks_that_ignore_sigterm_are_killed(cluster):
    nodes = cluster(["a", "b"], max_restarts=0)
    for rank in range(4):
        nodes.wish(rank, "deaf")
    started(nodes)
    begun = time.monotonic()
    os.kill(nodes.ranks()[0], signal.SIGKILL)
    assert nodes.codes() == {"a": 1, "b": 1}
    # torchrun alone gives them 30 s.
    assert time.monotonic() - begun < 25
    assert_nothing_left(nodes)
    assert nodes.status("b")["failure"]["message"] == "killed by SIGKILL"
    assert nodes.status("b")["failure"]["rank"] == 0
    assert "max_restarts allows no restart" in nodes.status("b")["reason"]


def test_a_spare_takes_the_place_of_a_lost_node(cluster):
    nodes = started(cluster(["a", "b", "c"], ["d"], lost_after=3.0))
    others = {**nodes.ranks("a"), **nodes.ranks("c")}
    # What a power cut leaves: nothing.
    for pid in [nodes.processes["b"].pid, *(pid for pid in nodes.left() if nodes.belongs(pid, "b"))]:
        os.kill(pid, signal.SIGKILL)
    assert nodes.wait(lambda: not set(others.values()) & set(nodes.left())) < 3.0 + 1.5 + SLACK_S
    nodes.wait_for_step(2, "a", "c", "d")
    assert nodes.status("a")["members"] == ["a", "d", "c"]
    assert [nodes.status(name)["node_rank"] for name in "adc"] == [0, 1, 2]
    assert sorted(nodes.ranks("d")) == [2, 3]
    # The one that comes back is a new one, whose place is taken.
    nodes.start("b")
    nodes.wait(lambda: "b" in nodes.status("a")["alive"])
    assert nodes.status("b")["state"] == "waiting"
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0, "c": 0, "d": 0}
    assert_nothing_left(nodes)
    assert nodes.kinds("a") == ["run", "node_lost", "run", "spare", "node_back", "ended"]


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_killed_supervisor_that_starts_again_ends_what_it_had_left(cluster, name):
    """Without systemd, which would have ended it: ranks that nobody watches, and on the first node a port in use."""
    nodes = started(cluster(["a", "b", "c"]))
    before = [pid for pid in nodes.left() if nodes.belongs(pid, name)]
    os.kill(nodes.processes[name].pid, signal.SIGKILL)
    nodes.processes[name].wait()
    assert set(before) <= set(nodes.left())
    nodes.start(name)
    nodes.wait_for_step(2)
    assert not set(before) & set(nodes.left())
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0, "c": 0}
    assert_nothing_left(nodes)


def test_fewer_nodes_go_on_where_min_nodes_allows_it(cluster):
    nodes = started(cluster(["a", "b", "c"], min_nodes=2, lost_after=3.0))
    nodes.stop("a", requested=False)
    nodes.wait_for_step(2, "b", "c")
    assert nodes.status("b")["members"] == ["b", "c"]
    assert sorted(nodes.ranks()) == [0, 1, 2, 3]
    reported = environment_of(nodes.ranks()[0])
    assert (reported["WORLD_SIZE"], reported["MASTER_ADDR"]) == ("4", "127.0.0.11")
    # Who goes gets a checkpoint from all, in the grace that a stop has.
    assert len(list(nodes.control.glob("checkpoint-*"))) == 6
    assert nodes.codes("a") == {"a": 143}
    nodes.finish()
    assert nodes.codes("b", "c") == {"b": 0, "c": 0}
    assert "shrunk" in nodes.kinds("b")


def test_a_stop_on_one_node_stops_the_job_with_a_checkpoint(cluster):
    nodes = started(cluster(["a", "b"], ["c"]))
    nodes.stop("b")
    assert nodes.codes() == {"a": 143, "b": 143, "c": 143}
    assert_nothing_left(nodes)
    assert sorted(path.name for path in nodes.control.glob("checkpoint-*")) == [f"checkpoint-{n}" for n in range(4)]
    assert {nodes.status(name)["outcome"] for name in nodes.names} == {"stopped"}
    assert nodes.kinds("a") == ["run", "stopped"]


def test_ranks_that_hang_are_named_with_their_stacks(cluster):
    nodes = cluster(["a", "b"], hang_timeout=3, max_restarts=1)
    started(nodes)
    nodes.wish("3", "hang")
    for rank in range(3):
        # As ranks do that wait for another one.
        nodes.wish(rank, "hang")
    nodes.wait(lambda: nodes.status("a")["state"] == "stopping")
    for rank in range(4):
        (nodes.control / str(rank)).unlink()
    # Not the next step: a rank that is free again may make one before it is ended.
    nodes.wait(lambda: nodes.status("b")["generation"] == 2)
    reported = [event for event in nodes.events("b") if event["kind"] == "hang"]
    assert len(reported) == 1
    assert reported[0]["text"].startswith("no step for 3 s")
    stacks = nodes.place("b") / "stacks/generation-1/rank-3.txt"
    assert "torchrun_stand_in.py" in stacks.read_text()
    nodes.wait_for_step(2)
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0}


def test_a_port_in_use_is_named(cluster):
    nodes = cluster(["a", "b"], max_restarts=0)
    with socket.create_server(("", nodes.port)):
        nodes.start()
        assert nodes.codes() == {"a": 1, "b": 1}
    said = nodes.status("b")["failure"]["message"]
    assert said.startswith(f"rendezvous_port {nodes.port} is in use on a; choose another port")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.10", nodes.shared["control_port"]))
        nodes.start("a")
        assert nodes.codes("a") == {"a": 2}
    last = (nodes.place("a") / "agent.log").read_text().splitlines()[-1]
    assert last.startswith(f"control_port {nodes.shared['control_port']} cannot be used on a")


def test_datagrams_of_an_earlier_launch_are_no_messages(cluster):
    old = cluster(["a", "b"])
    old.start("a")
    old.wait(lambda: old.status("a"))
    new = Cluster.__new__(Cluster)
    new.__dict__.update(old.__dict__)
    new.shared = {**old.shared, "key": "11" * 32}
    new.processes = {}
    new.start("b")
    new.wait(lambda: new.status("b"))
    time.sleep(3)
    assert old.status("a")["alive"] == ["a"]
    assert new.status("b")["alive"] == ["b"]
    old.processes.update(new.processes)
