# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real supervisors and ranks: a job that goes on with fewer nodes takes in one that has come back."""

from __future__ import annotations

import pytest

from tests.unit.supervised import Cluster


@pytest.fixture
def nodes(tmp_path):
    cluster = Cluster(tmp_path, ["a", "b", "c"], min_nodes=2, grow_after=3)
    cluster.start()
    cluster.wait_for_step()
    yield cluster
    cluster.kill_all()


def saved(nodes):
    return int((nodes.control / "checkpoint-0").read_text())


def test_a_job_grows_after_a_checkpoint_when_its_node_is_back(nodes):
    nodes.stop("b", requested=False)
    nodes.wait_for_step(2, "a", "c")
    assert nodes.codes("b") == {"b": 143}
    assert nodes.status("a")["members"] == ["a", "c"]
    at_two, two = saved(nodes), set(nodes.ranks("a").values())
    (nodes.control / "checkpoint-0").write_text("0")
    nodes.start("b")
    nodes.wait_for_step(3)
    # They were told to end, and wrote where they were.
    assert saved(nodes) > at_two
    assert not two & set(nodes.left())
    status = nodes.status("c")
    assert (status["members"], status["restarts"]) == (["a", "b", "c"], 0)
    assert sorted(nodes.ranks()) == [0, 1, 2, 3, 4, 5]
    reported = [event["text"] for event in nodes.events("c") if event["kind"] in ("shrunk", "grown")]
    assert reported == ["The job continues with 2 of 3 nodes.", "The job has grown to 3 of 3 nodes."]
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0, "c": 0}
    assert nodes.left() == []
