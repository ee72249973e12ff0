# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors with the real torchrun, whose lines and habits they rely on; two nodes with a rank each."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.unit.supervised import Cluster

TORCHRUN = Path(sys.executable).parent / "torchrun"
# Ranks that meet in every step, as those of a training do, and tell how far they are.
PROGRAM = """
import faulthandler, json, os, pathlib, signal, sys, time
import torch
import torch.distributed as distributed

faulthandler.register(signal.SIGUSR1)
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
distributed.init_process_group("gloo")
rank = distributed.get_rank()
place = pathlib.Path(os.environ["GAUDI3_SCALE_PROGRESS_DIR"], os.environ["LOCAL_RANK"] + ".json")
control = pathlib.Path(sys.argv[1])
for step in range(1, 10000):
    reported = torch.tensor([float(bool(stop)), float((control / "finish").exists())])
    distributed.all_reduce(reported, op=distributed.ReduceOp.MAX)
    if (control / f"leave-{rank}").exists():
        os._exit(0)
    if (control / f"raise-{rank}").exists():
        raise ValueError(f"bad thing on rank {rank}")
    if reported[0]:
        (control / f"checkpoint-{rank}-{step}").write_text("x")
    if reported.any():
        break
    while (control / f"hang-{rank}").exists():
        time.sleep(0.1)
    new = place.with_suffix(".new")
    new.write_text(json.dumps({"rank": rank, "step": step, "busy_seconds": 0.1, "pid": os.getpid()}))
    new.replace(place)
    time.sleep(0.1)
distributed.destroy_process_group()
"""
# As podman: what it starts is no child of its own, but of a process that watches over it, adopts what its processes
# leave behind, and becomes a child of the supervisor.
ENGINE = """
import ctypes, os, pathlib, subprocess, sys
pid_file, *command = sys.argv[1:]
reading, writing = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        inner = subprocess.Popen(command)
        pathlib.Path(pid_file).write_text(str(inner.pid))
        code = inner.wait()
        os.write(writing, bytes([code if code >= 0 else 128 - code]))
    os._exit(0)
os.close(writing)
os.wait()
status = os.read(reading, 1)
sys.exit(status[0] if status else 125)
"""
# Torch alone takes seconds to start or to show its table on a machine that has other work, too.
SLACK_S = 12.0

pytestmark = pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")


def started(tmp_path, hosts, spares, processes, *, in_container=False, **rules):
    """Nodes whose ranks have made a step."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "engine.py").write_text(ENGINE)
    cluster = Cluster(tmp_path, hosts, spares, processes=processes, join_timeout=60, **rules)
    if in_container:
        cluster.own = lambda place: {"container_process": str(place / "container.pid")}
    cluster.stand_in = lambda place: [
        *([sys.executable, "-I", str(tmp_path / "engine.py"), str(place / "container.pid")] if in_container else []),
        str(TORCHRUN),
        *("--nnodes", "@NNODES@", "--node-rank", "@NODE_RANK@", "--nproc-per-node", str(processes)),
        *("--rdzv-backend", "static", "--rdzv-id", "test", "--max-restarts", "0"),
        *("--master-addr", "@MASTER_ADDRESS@", "--master-port", str(cluster.port)),
        *("--log-dir", str(place / "ranks"), "--redirects", "3"),
        *(str(tmp_path / "program.py"), str(cluster.control)),
    ]
    cluster.start()
    cluster.wait(lambda: all(cluster.has_stepped(name, 1) for name in hosts), 90)
    return cluster


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")


@pytest.fixture
def nodes(tmp_path):
    cluster = started(tmp_path, ["a", "b"], ["c"], 1)
    yield cluster
    cluster.kill_all()


def second_run(cluster, *names):
    cluster.wait(lambda: all(cluster.has_stepped(name, 2) for name in names), 90)


@pytest.mark.in_turn
def test_a_killed_rank_a_lost_node_and_a_stop(nodes):
    first = nodes.ranks()
    os.kill(first[1], signal.SIGKILL)
    gone = nodes.wait(lambda: not set(first.values()) & set(nodes.left()))
    assert gone < 2 + SLACK_S
    second_run(nodes, "a", "b")
    reported = [event for event in nodes.events("a") if event["kind"] == "rank_failed"]
    assert [event["text"].splitlines()[0] for event in reported] == ["rank 1 on b failed first: killed by SIGKILL"]

    # The node is gone with all that it ran.
    for pid in [nodes.processes["b"].pid, *(pid for pid in nodes.left() if nodes.belongs(pid, "b"))]:
        os.kill(pid, signal.SIGKILL)
    survivor = nodes.ranks("a")[0]
    assert nodes.wait(lambda: survivor not in nodes.left()) < 6.0 + SLACK_S
    nodes.wait(lambda: all(nodes.has_stepped(name, 3) for name in "ac"), 90)
    assert nodes.status("c")["members"] == ["a", "c"]

    nodes.stop("a")
    assert nodes.codes("a", "c") == {"a": 143, "c": 143}
    # Both in the same step, since they agree on it.
    steps = {path.name.rpartition("-")[2] for path in nodes.control.glob("checkpoint-*")}
    assert len(list(nodes.control.glob("checkpoint-*"))) == 2 and len(steps) == 1
    assert nodes.left() == []
    assert nodes.port_is_free()
    # Three runs, three places for logs.
    assert len(list((nodes.place("a") / "ranks").glob("*/attempt_0/0/stderr.log"))) == 3


@pytest.mark.in_turn
def test_in_a_container_a_killed_rank_is_named_and_nothing_is_left(tmp_path):
    cluster = started(tmp_path, ["a", "b"], [], 1, in_container=True)
    try:
        first = cluster.ranks()
        inner = int((cluster.place("b") / "container.pid").read_text())
        os.kill(first[1], signal.SIGKILL)
        assert cluster.wait(lambda: not set(first.values()) & set(cluster.left())) < 2 + SLACK_S
        second_run(cluster, "a", "b")
        reported = [event for event in cluster.events("a") if event["kind"] == "rank_failed"]
        assert [event["text"].splitlines()[0] for event in reported] == ["rank 1 on b failed first: killed by SIGKILL"]
        assert int((cluster.place("b") / "container.pid").read_text()) != inner
        cluster.finish()
        assert cluster.codes() == {"a": 0, "b": 0}
        assert cluster.left() == []
        assert cluster.port_is_free()
    finally:
        cluster.kill_all()


@pytest.mark.long
def test_the_rank_that_raised_is_named_and_not_the_one_that_lost_it(nodes):
    (nodes.control / "raise-1").write_text("x")
    nodes.wait(lambda: nodes.status("a").get("generation", 0) > 1 or nodes.status("a").get("outcome"), 60)
    reported = [event for event in nodes.events("a") if event["kind"] == "rank_failed"]
    assert reported[0]["host"] == "b"
    assert reported[0]["text"].startswith("rank 1 on b failed first: ValueError: bad thing on rank 1")
    (nodes.control / "raise-1").unlink()
    second_run(nodes, "a", "b")
    nodes.finish()
    assert nodes.codes() == {"a": 0, "b": 0, "c": 0}
    assert nodes.left() == []


@pytest.mark.long
def test_a_node_that_goes_down_is_replaced_after_a_checkpoint(nodes):
    nodes.stop("b", requested=False)
    second_run(nodes, "a", "c")
    assert nodes.codes("b") == {"b": 143}
    assert len(list(nodes.control.glob("checkpoint-*"))) == 2
    assert nodes.status("a")["members"] == ["a", "c"]
    begun = time.monotonic()
    nodes.finish()
    assert nodes.codes("a", "c") == {"a": 0, "c": 0}
    assert time.monotonic() - begun < 20
    shutil.rmtree(nodes.control)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("hosts", "processes", "host"),
    [
        # Its own agent names the rank that lost it, and only in its table not the one that left.
        (["a"], 2, "a"),
        # Its agent has no rank any more, and waits for the other agent.
        pytest.param(["a", "b"], 1, "b", marks=pytest.mark.long),
    ],
)
def test_a_rank_that_left_is_named_and_not_the_one_that_lost_it(tmp_path, hosts, processes, host):
    cluster = started(tmp_path, hosts, [], processes, max_restarts=0)
    try:
        (cluster.control / "leave-1").write_text("x")
        cluster.wait(lambda: cluster.status("a").get("outcome"), 60)
        reason = cluster.status("a")["reason"]
        said = rf"rank 1 on {host} ended with exit status 0 at \d\d:\d\d:\d\d after step \d+ while other ranks ran"
        assert re.match(said, reason), reason
    finally:
        cluster.kill_all()
