# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trials of another account: what they may do, and what root does with whatever they leave behind."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload, run_trial
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial_place import MOST_BYTES, trial_place
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import environment_as

USER = "nobody"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the trials of another account")
# What stands in for gaudi3_scale.batch.trial.
PREAMBLE = "import json, os, sys\nrequest = json.loads(sys.argv[1])\nresult = request['result']\n"
FINE = "open(result, 'w').write(json.dumps({'outcome': 'ok', 'peak_memory_bytes': 1}))\n"


@pytest.fixture
def secret(tmp_path):
    """A file that only root reads, in the form of a result."""
    path = tmp_path / "secret"
    path.write_text(json.dumps({"outcome": "workload_error", "message": "the secret"}), encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def trial_of(tmp_path, monkeypatch):
    """Runs one trial of ``nobody`` whose process is the given program; all may read the system's Python."""
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    scratch.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    package = tmp_path / "code" / "gaudi3_scale" / "batch"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()

    def run(program, processes=1):
        (package / "trial.py").write_text(PREAMBLE + program, encoding="utf-8")
        environment = {**environment_as(USER), "PYTHONPATH": str(tmp_path / "code")}
        workload = Workload("m:f", {}, device="cpu", processes=processes)
        trial = run_trial(workload, 8, python="/usr/bin/python3", timeout=20, environment=environment, user=USER)
        assert list(scratch.iterdir()) == []
        return trial

    return run


@as_root
def test_a_trial_is_the_account_with_its_groups_and_home_and_can_become_nobody_else(trial_of):
    trial = trial_of(
        "status = open('/proc/self/status').read()\n"
        "ids = [os.getuid(), os.getgid(), sorted(os.getgroups()), os.environ['HOME'], 'NoNewPrivs:\\t1' in status]\n"
        "open(result, 'w').write(json.dumps({'outcome': 'workload_error', 'message': json.dumps(ids)}))\n"
    )
    entry = pwd.getpwnam(USER)
    groups = sorted(os.getgrouplist(USER, entry.pw_gid))
    assert json.loads(trial.message) == [entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, True]


@as_root
def test_a_trial_of_several_ranks_is_judged_as_ever(trial_of):
    assert (trial_of(FINE, processes=2).outcome, trial_of(FINE).peak_memory_bytes) == ("ok", 1)


@as_root
@pytest.mark.parametrize(
    "program",
    [
        "os.symlink({secret!r}, result)",
        "os.rename(os.getcwd(), os.getcwd() + '2')",
        "os.rename('..', '../../elsewhere')",
        "os.mkfifo(result)",
        "os.symlink('/dev/zero', result)",
        "os.mkdir(result)",
        "open(result, 'w').write('[' * 200000)",
        "open(result, 'w').write(json.dumps({{'outcome': 'ok', 'peak_memory_bytes': 10 ** 400}}))",
        "open(result, 'w').write(json.dumps({{'outcome': 'ok', 'step_seconds': float('nan')}}))",
        "open(result, 'w').write(json.dumps({{'outcome': 'ok', 'losses': {{'a': 1}}}}))",
        "open(result, 'w').write(json.dumps(['ok']))",
        "os.mkdir('deep'); os.chmod('deep', 0); open('x', 'w'); os.chmod('.', 0)",
    ],
)
def test_what_a_trial_leaves_is_never_followed_and_never_more_than_its_result(trial_of, secret, program):
    trial = trial_of(program.format(secret=str(secret)))
    assert trial.outcome == "crash"
    assert "the secret" not in trial.message
    assert secret.stat().st_mode & 0o777 == 0o600


@as_root
def test_a_trial_cannot_put_a_link_in_the_place_of_a_log_of_another_rank(trial_of, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("root's own", encoding="utf-8")
    trial = trial_of(
        f"os.symlink({str(victim)!r}, 'log-1')\n"
        "try:\n"
        f"    os.symlink({str(victim)!r}, '../log-2')\n"
        "except PermissionError:\n"
        "    print('refused')\n"
    )
    assert trial.message == "exit status 0. Last output: refused"
    assert victim.read_text(encoding="utf-8") == "root's own"


@as_root
def test_of_an_endless_log_only_the_end_is_read(trial_of):
    trial = trial_of(f"print('x' * {3 * MOST_BYTES}); print('last words'); sys.exit(3)")
    assert trial.message.endswith("last words")
    assert len(trial.message) <= MOST_BYTES + 100


@as_root
def test_a_place_is_the_account_s_and_nobody_else_comes_in(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with trial_place("test-", USER) as place:
        outer, inner = Path(place.directory).stat(), Path(place.work).stat()
    assert (outer.st_uid, outer.st_mode & 0o777) == (0, 0o711)
    assert (inner.st_uid, inner.st_mode & 0o777) == (pwd.getpwnam(USER).pw_uid, 0o700)
    assert not Path(place.directory).exists()


def test_an_account_that_is_not_there_is_refused_in_a_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = r"user nobody-here does not exist on this node; run .*venv.yml"
    with pytest.raises(GaudiError, match=said), trial_place("test-", "nobody-here"):
        pass
    assert list(tmp_path.iterdir()) == []
