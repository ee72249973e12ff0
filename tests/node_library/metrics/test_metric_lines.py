# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a run tells while it goes on: two real ranks, of which one is slow at times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from forked_ranks import ends_of, said_in, start_script
from job_runs import SMALL_MODEL, read_lines

# The trainer, in which rank 1 takes longer for each batch.
SLOW_RANK = """
import os, sys, time
from gaudi3_scale import train
from gaudi3_scale.trainer import language_model_task
if os.environ["RANK"] == "1":
    whole = language_model_task.next_token_loss
    language_model_task.next_token_loss = lambda *given: (time.sleep(0.05), whole(*given))[1]
train.main()
"""


@pytest.fixture
def slow_rank(tmp_path, text):
    """Two ranks of which one is slow; returns the metric lines and the progress directory."""
    script, progress = tmp_path / "slow.py", tmp_path / "progress"
    script.write_text(SLOW_RANK)
    progress.mkdir()
    options = ["--text", text, "--device", "cpu", *SMALL_MODEL, "--max-steps", 12, "--metrics-every", 4]
    variables = {"GAUDI3_SCALE_PROGRESS_DIR": str(progress)}
    ranks = start_script(tmp_path, script, *options, "--loggers", "none", variables=variables)
    assert ends_of(ranks) == [0, 0], said_in(tmp_path)
    return read_lines(tmp_path / "metrics.jsonl"), progress


def test_two_ranks_tell_where_the_time_goes_and_who_is_slow(slow_rank):
    lines, progress = slow_rank
    steps = [line for line in lines if line["kind"] == "step"]
    assert [line["step"] for line in steps] == [1, 4, 8, 12]
    assert set(steps[0]["seconds"].values()) == {None}
    for line in steps[1:]:
        seconds = dict(line["seconds"])
        whole = seconds.pop("step")
        # A line is told in the middle of a step, so that some of it counts for the next.
        assert sum(seconds.values()) == pytest.approx(whole, rel=0.25)
        assert line["tokens_per_second_per_card"] == pytest.approx(line["tokens_per_second"] / 2, rel=0.01)
        # Rank 0 waits about 50 ms for rank 1, which does not wait for it: 25 ms as the mean of both. How long the
        # sending itself takes is the machine's business.
        assert 0.015 < seconds["communication"] < whole
        assert 0.025 < seconds["forward"] < whole
        assert (line["slowest"]["rank"], line["slowest"]["ratio"] > 1.2) == (1, True)
        assert 100 << 20 < line["memory_bytes"] < 100 << 30
    assert steps[1]["ends_at"] == pytest.approx(steps[1]["time"] + steps[1]["seconds_left"], abs=1)
    (nodes,) = [line for line in lines if line["kind"] == "nodes"]
    (node,) = nodes["nodes"].values()
    assert (nodes["steps"], node["ranks"], node["slowest_rank"]) == (11, 2, 1)
    assert node["slowest_busy_seconds"] > 0.05

    ranks = [json.loads((progress / f"{local_rank}.json").read_text()) for local_rank in (0, 1)]
    assert [(one["rank"], one["step"]) for one in ranks] == [(0, 12), (1, 12)]
    assert ranks[1]["busy_seconds"] > 0.05
    assert ranks[0]["busy_seconds"] < ranks[1]["busy_seconds"]


def test_the_start_says_what_runs(train_here, monkeypatch):
    monkeypatch.setenv("PT_HPU_LAZY_MODE", "0")
    monkeypatch.setenv("WANDB_API_KEY", "f00ba4")
    start = train_here("--max-steps", 1, "--loggers", "none")[0]
    assert start["flags"] == {"PT_HPU_LAZY_MODE": "0"}
    assert {"torch", "lightning", "python"} <= set(start["versions"])
    assert len(start["hosts"]) == 1


def test_accumulated_batches_are_parts_of_one_step(train_here):
    lines = train_here("--max-steps", 4, "--accumulate", 3, "--loggers", "none")
    last = [line for line in lines if line["kind"] == "step"][-1]
    whole = last["seconds"].pop("step")
    assert sum(last["seconds"].values()) == pytest.approx(whole, rel=0.3)


def test_a_rank_shows_its_stacks_when_it_is_asked(tmp_path):
    code = (
        "import sys, time\n"
        "from gaudi3_scale.ranks import run_rank\n"
        "def waits_for_ever(arguments):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
        "run_rank('test', waits_for_ever, [])\n"
    )
    rank = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        assert rank.stdout.readline() == "ready\n"
        rank.send_signal(signal.SIGUSR1)
        stack = ""
        while "waits_for_ever" not in stack:
            line = rank.stderr.readline()
            assert line, stack
            stack += line
        assert rank.poll() is None
    finally:
        rank.kill()
        rank.wait()
    # Whoever wants the stacks asks only ranks that catch the signal.
    assert "Current thread" in stack


@pytest.mark.parametrize(
    ("hosts", "names"),
    [(["a", "b"], ["a", "b"]), (["a", "a"], ["a (node 0)", "a (node 1)"])],
)
def test_nodes_are_called_by_their_host_names(monkeypatch, hosts, names):
    from gaudi3_scale import ranks

    reported = [list(host.encode()) for host in hosts for _local_rank in range(2)]
    monkeypatch.setattr(ranks, "gather_numbers", lambda *given: reported)
    assert ranks.node_names(ranks.Ranks(0, 4, 0, 2), None) == names


@pytest.mark.parametrize(("told", "own"), [("rack1-a", "rack1-a"), ("", "machine")])
def test_a_node_is_called_as_the_inventory_names_it_where_the_job_says_so(monkeypatch, told, own):
    from gaudi3_scale import ranks

    monkeypatch.setenv("GAUDI3_SCALE_NODE", told)
    monkeypatch.setattr(ranks.socket, "gethostname", lambda: "machine")
    monkeypatch.setattr(ranks, "gather_numbers", lambda numbers, *_given: [numbers])
    assert ranks.node_names(ranks.Ranks(0, 1, 0, 1), None) == [own]
