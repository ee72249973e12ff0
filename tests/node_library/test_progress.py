# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from gaudi3_scale.progress import ProgressFile


def read(directory, local_rank=1):
    return json.loads((directory / f"{local_rank}.json").read_text())


def test_it_says_where_the_rank_is(tmp_path):
    environment = {"GAUDI3_SCALE_PROGRESS_DIR": str(tmp_path), "RANK": "9", "LOCAL_RANK": "1"}
    ProgressFile.of_job(environment).done(120, 0.0812345678)
    line = read(tmp_path)
    assert abs(line.pop("time") - time.time()) < 10
    assert line == {"rank": 9, "step": 120, "busy_seconds": 0.081235, "pid": os.getpid()}
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


def test_it_is_written_at_most_so_often_but_for_the_last(tmp_path):
    progress = ProgressFile(str(tmp_path), 1, 1, every=3600)
    progress.done(1)
    progress.done(2)
    assert (read(tmp_path)["step"], read(tmp_path)["busy_seconds"]) == (1, None)
    progress.done(3, last=True)
    assert read(tmp_path)["step"] == 3
    often = ProgressFile(str(tmp_path), 1, 1, every=0)
    often.done(4)
    often.done(5)
    assert read(tmp_path)["step"] == 5


def test_without_a_directory_nothing_is_done_and_one_that_is_gone_is_said_once(tmp_path, capsys):
    ProgressFile.of_job({}).done(1)
    progress = ProgressFile(str(tmp_path / "none"), 0, 0, every=0)
    progress.done(1)
    progress.done(2)
    assert capsys.readouterr().err.count("cannot be written (No such file or directory)") == 1


def test_a_script_that_uses_it_loads_no_torch():
    code = "import sys, gaudi3_scale.progress; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
