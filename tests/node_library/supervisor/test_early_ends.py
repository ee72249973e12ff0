# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A rank that ends well while others run: they lose it, or wait for it, and it is what the job ends by."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gaudi3_scale.core._job.agent_table import AgentEntry
from gaudi3_scale.core._job.failure import left_early, rank_failure
from gaudi3_scale.core._job.reported_failure import LEFT
from gaudi3_scale.supervisor.rank_exits import LOOK_S, STARTED_S, SURE_S, RankExits
from tests.unit.supervised import Cluster

LEFT_EARLY = r"rank 3 on b ended with exit status 0 at \d\d:\d\d:\d\d after step \d+ while other ranks ran"


@pytest.fixture
def job(tmp_path):
    cluster = Cluster(tmp_path, ["a", "b"], hang_timeout=20.0, max_restarts=0)
    cluster.start()
    cluster.wait_for_step()
    yield cluster
    cluster.kill_all()


def wish(cluster, rank, what):
    (cluster.control / str(rank)).write_text(what)


@pytest.mark.in_turn
def test_it_is_named_before_those_that_lost_it(job):
    gone = job.ranks()[3]
    wish(job, 3, "exit")
    job.wait(lambda: gone not in job.left(), 30)
    time.sleep(SURE_S + 2 * LOOK_S)
    wish(job, 0, "lose")
    job.wait(lambda: job.status("a").get("outcome"), 60)
    status = job.status("a")
    assert status["outcome"] == "failed"
    assert re.match(LEFT_EARLY, status["reason"])
    failure = status["failure"]
    assert (failure["host"], failure["rank"], failure["exit_code"], failure["echo"]) == ("b", 3, 0, LEFT)
    # It is the reason, and no rank of which it would be said that it failed.
    assert "rank_failed" not in job.kinds("a")


def test_it_is_named_where_its_agent_has_ended_with_it(job):
    agent = job.parent(job.ranks()[3])
    for rank in (2, 3):
        wish(job, rank, "exit")
    job.wait(lambda: not Path(f"/proc/{agent}").exists(), 30)
    wish(job, 0, "lose")
    job.wait(lambda: job.status("a").get("outcome"), 60)
    assert re.match(LEFT_EARLY.replace("rank 3", "rank 2"), job.status("a")["reason"])


def test_a_rank_that_failed_comes_before_it(job):
    gone = job.ranks()[3]
    wish(job, 3, "exit")
    job.wait(lambda: gone not in job.left(), 30)
    time.sleep(SURE_S + 2 * LOOK_S)
    wish(job, 1, "raise")
    job.wait(lambda: job.status("a").get("outcome"), 60)
    assert job.status("a")["reason"].startswith("rank 1 on a failed first: ValueError: bad thing on rank 1")


@pytest.mark.in_turn
def test_ranks_that_wait_for_it_are_hung_and_it_is_named(job):
    for rank in (0, 1, 2):
        wish(job, rank, "hang")
    wish(job, 3, "exit")
    job.wait(lambda: job.status("a").get("outcome"), 90)
    assert re.search(f"; {LEFT_EARLY}", job.status("a")["reason"])


def test_ranks_that_all_end_well_one_after_the_other_are_no_failure(job):
    wish(job, 3, "exit")
    time.sleep(SURE_S + 2 * LOOK_S)
    (job.control / "finish").write_text("")
    job.wait(lambda: job.status("a").get("outcome"), 60)
    assert (job.status("a")["outcome"], job.status("a")["failure"]) == ("succeeded", None)


class Ranks:
    """Processes of this machine in the place of ranks, which start one after the other."""

    def __init__(self):
        self.running = {}

    def start(self, local):
        self.running[local] = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def end(self, local):
        self.running.pop(local).communicate()

    def __call__(self):
        return {local: process.pid for local, process in self.running.items()}


@pytest.fixture
def ranks():
    found = Ranks()
    yield found
    for local in list(found.running):
        found.end(local)


def test_a_rank_has_ended_well_of_which_the_agent_says_nothing_for_a_while(ranks):
    exits = RankExits(ranks, 2)
    for local in (0, 1):
        ranks.start(local)
    exits.look(1.0)
    ranks.end(1)
    exits.look(1.5)
    assert exits.gone(1.5) == {}
    exits.look(2.0)
    assert [(local, one.since, one.ended_well) for local, one in exits.gone(2.5).items()] == [(1, 2.0, False)]
    assert exits.gone(2.0 + SURE_S)[1].ended_well


def test_one_that_was_gone_before_it_was_seen_is_missed(ranks):
    exits = RankExits(ranks, 2)
    exits.look(1.0)
    ranks.start(0)
    exits.look(2.0)
    assert exits.gone(100.0) == {}
    exits.look(3.0)
    assert set(exits.gone(100.0)) == {1}
    # It was only started late.
    ranks.start(1)
    exits.look(4.0)
    assert exits.gone(100.0) == {}
    ranks.end(1)
    exits.look(2.1 + STARTED_S)
    assert set(exits.gone(100.0)) == {1}


def test_one_that_had_waited_and_was_started_anew_has_not_ended(ranks):
    exits = RankExits(ranks, 1)
    ranks.start(0)
    exits.look(1.0)
    ranks.end(0)
    ranks.start(0)
    exits.look(2.0)
    assert (exits.gone(100.0), exits.known) == ({}, ranks())
    ranks.end(0)
    exits.look(3.0)
    assert set(exits.gone(100.0)) == {0}


def test_those_that_are_told_to_end_have_not_ended_before(ranks):
    exits = RankExits(ranks, 3)
    for local in range(3):
        ranks.start(local)
    exits.look(1.0)
    ranks.end(2)
    exits.ended_by(ranks(), 1.1)
    assert set(exits.gone(5.0)) == {2}
    assert ranks.running[0].poll() is None


def test_what_is_said_of_it():
    quiet = rank_failure(AgentEntry(3, 1, 0, 1e9, wrote_error=False), None, "no batch left\n", "/log")
    told = left_early(quiet, 40, seen=True)
    assert re.fullmatch(r"ended with exit status 0 at \d\d:\d\d:\d\d after step 40 while other ranks ran", told.message)
    assert (told.lines, told.echo, told.exit_code) == (("no batch left",), LEFT, 0)
    either = left_early(quiet, or_ranks=[4, 5])
    assert either.message == "or rank 4 or rank 5 ended with exit status 0 while other ranks ran"
