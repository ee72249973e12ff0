# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.reached import Reached, read_reached
from gaudi3_scale.ranks import Ranks, ranks_from
from job_runs import end_of, torchrun, wait_until


def errors(directory: Path) -> list[str]:
    """A rank that torchrun ended while it was writing has left a file with nothing in it."""
    texts = [path.read_text() for path in directory.rglob("error.json")]
    return [json.loads(text)["message"]["message"] for text in texts if text]


def test_torchrun_says_which_rank_this_is():
    assert ranks_from({}) == Ranks(0, 1, 0, 1, launched=False)
    found = ranks_from({"RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8"})
    assert found == Ranks(11, 16, 3, 8, launched=True)
    assert found.nodes == 2
    with pytest.raises(GaudiError, match="RANK is set but LOCAL_RANK, LOCAL_WORLD_SIZE is not"):
        ranks_from({"RANK": "0", "WORLD_SIZE": "1"})


def test_a_failing_rank_writes_its_own_error(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys, torch\n"
        "from gaudi3_scale.ranks import join, ranks_from, run_rank\n"
        "def body(arguments):\n"
        "    ranks = ranks_from(os.environ)\n"
        "    join(ranks, torch.device('cpu'))\n"
        "    if ranks.rank == 1:\n"
        "        raise ValueError('the seventh sample is broken')\n"
        "    torch.distributed.barrier()\n"
        "run_rank('job', body, sys.argv[1:])\n"
    )
    status, output = end_of(torchrun(tmp_path, script))
    assert status == 1
    assert "ValueError: the seventh sample is broken" in errors(tmp_path / "ranks")
    assert "the seventh sample is broken" in output


def test_a_wrong_option_is_in_the_error_file_too(tmp_path):
    told = {"TORCHELASTIC_ERROR_FILE": str(tmp_path / "error.json")}
    ranks = start_ranks([tmp_path], ["--text", "/nothing", "--max-steps", 3], variables=told)
    assert ends_of(ranks) == [1]
    sentence = "--text /nothing: there is no such file or directory on this node."
    assert errors(tmp_path) == [f"GaudiError: {sentence}"]
    assert said_in(tmp_path) == f"gaudi3_scale.train: {sentence}\n"


def test_ranks_tell_how_far_they_are_and_one_whose_libraries_load_slowly_holds_the_others(tmp_path):
    """Rank 1's storage is slow, until the test lets it go on."""
    script, gate, end = tmp_path / "job.py", tmp_path / "gate", tmp_path / "end"
    script.write_text(
        "import os, pathlib, sys, time\n"
        f"while os.environ['LOCAL_RANK'] == '1' and not pathlib.Path({str(gate)!r}).exists():\n"
        "    time.sleep(0.01)\n"
        "import torch\n"
        "from gaudi3_scale.ranks import join, ranks_from, run_rank\n"
        "from gaudi3_scale.reached import MEASURING, tell\n"
        "def body(arguments):\n"
        "    join(ranks_from(os.environ), torch.device('cpu'))\n"
        "    tell(MEASURING)\n"
        f"    while not pathlib.Path({str(end)!r}).exists():\n"
        "        time.sleep(0.01)\n"
        "run_rank('job', body, sys.argv[1:])\n"
    )
    agent = torchrun(tmp_path, script)
    ranks = str(tmp_path / "ranks")
    wait_until(lambda: read_reached(ranks, 2).started, agent)
    # It waits for the other one, so that nobody's time to measure has begun.
    assert read_reached(ranks, 2) == Reached(started=1)
    gate.touch()
    wait_until(lambda: read_reached(ranks, 2).measuring == 2, agent)
    found = read_reached(ranks, 2)
    assert (found.started, found.met) == (2, 2) and found.since is not None
    end.touch()
    assert end_of(agent)[0] == 0
