# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Logs of a job whose directory is a file system, or lies on another one than root's: real ones."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import lines_of_runs
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.directories import EARLIER_KEPT, put_away_logs

RUNS = EARLIER_KEPT + 2
# Another file system than the tests' own.
ELSEWHERE = Path("/dev/shm")


def own_runs(log: str) -> None:
    """So many runs after each other with a line each, and what a new file system has."""
    paths = JobPaths("llama", f"{log}/state", log)
    Path(paths.logs, "lost+found").mkdir(parents=True, exist_ok=True)
    for number in range(RUNS):
        Path(paths.logs, "ranks").mkdir(exist_ok=True)
        Path(paths.metrics).write_text(json.dumps({"step": number}) + "\n", encoding="utf-8")
        put_away_logs(paths, pwd.getpwuid(os.geteuid()))
        assert sorted(one.name for one in Path(paths.logs).iterdir()) == ["earlier", "lost+found"]
    kept = [line["step"] for line in lines_of_runs(paths, "metrics.jsonl")]
    assert kept == list(range(RUNS))[-EARLIER_KEPT:]
    # Nothing was left to be moved.
    put_away_logs(paths, pwd.getpwuid(os.geteuid()))
    assert len(list(Path(paths.earlier_within).iterdir())) == EARLIER_KEPT


@pytest.mark.skipif(
    not ELSEWHERE.is_dir() or ELSEWHERE.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev,
    reason="there is one file system only",
)
def test_logs_on_a_file_system_that_begins_above_them_stay_on_it(tmp_path):
    other = tempfile.mkdtemp(dir=ELSEWHERE)
    try:
        (tmp_path / "jobs").symlink_to(other)
        own_runs(str(tmp_path))
    finally:
        shutil.rmtree(other)


MAY_MOUNT = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not MAY_MOUNT, reason="mounts are root's")
def test_logs_that_are_a_file_system_stay_on_it(tmp_path):
    logs = JobPaths("llama", str(tmp_path), str(tmp_path)).logs
    Path(logs).mkdir(parents=True)
    program = f"from {__name__} import own_runs; own_runs({str(tmp_path)!r})"
    mounted = ["sh", "-c", 'mount -t tmpfs none "$1" && shift && exec "$@"', "sh", logs, sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        ["unshare", "--mount", *mounted], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(Path(logs).iterdir()) == []
