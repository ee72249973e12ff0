# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of the tuner, and the storage that nodes share."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.tune import commands as tune
from gaudi3_scale.tune import packages
from gaudi3_scale.tune.credentials import make_credentials
from gaudi3_scale.tune.presence import Watch
from gaudi3_scale.tune.storage import file_url, open_storage, serve
from job_runs import read_lines
from studies import OPTIONS

QUICK = "from gaudi3_scale.tune import worker; from gaudi3_scale.tune.commands import tune; worker.SETTLE_S = 3.0;"


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def study_file(directory: Path, **changed) -> Path:
    path = directory / "study.json"
    path.write_text(json.dumps({**OPTIONS, **changed, "fixed": {}}))
    return path


def start(path: Path, host: str, where: str, *more: object):
    """A node's worker group, without PyTorch, which only its error file needs."""
    files = {"GAUDI3_SCALE_TUNE_STORAGE": where, "GAUDI3_SCALE_METRICS": str(path.parent / f"{host}.jsonl")}
    words = ["work", "--study", path, "--host", host, *more]
    return subprocess.Popen(
        [sys.executable, "-c", f"{QUICK} tune({[str(word) for word in words]})"],
        env={**os.environ, **files},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.in_turn
def test_two_processes_share_a_study_through_the_one_that_keeps_it(tmp_path, port):
    path, where = study_file(tmp_path, trials=12), f"grpc://127.0.0.1:{port}"
    make_credentials(tmp_path, "127.0.0.1", 3600)
    known = ["--credentials", tmp_path]
    other = start(path, "n2", where, *known)
    # A node that is first waits for the one that keeps the study.
    time.sleep(1)
    keeper = start(path, "n1", where, "--serve", *known)
    try:
        errors = [process.communicate(timeout=120)[1] for process in (keeper, other)]
    finally:
        for process in (keeper, other):
            process.kill()
    assert (keeper.returncode, other.returncode) == (0, 0), errors
    tune.tune(["report", "--study", str(path)])
    reported = json.loads((tmp_path / "report.json").read_text())
    assert reported["data"]["done"] >= 12
    assert {row["node"] for row in reported["sections"][0]["rows"]} == {"n1", "n2"}
    # The keeper shows the trials of all nodes.
    assert len([line for line in read_lines(tmp_path / "n1.jsonl") if line["kind"] == "trial"]) == len(reported["rows"])


def test_a_study_that_was_stopped_goes_on(tmp_path):
    path = study_file(tmp_path, trials=3, environment={"TUNED_TRAINER": "slow"}, steps=10, timeout=100)
    where = str(tmp_path / "journal")
    stopped = start(path, "n1", where)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("trials/0/metrics.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate(timeout=60)
    (trial, again) = optuna.load_study(study_name="s", storage=open_storage(where)).trials
    assert (trial.state.name, again.state.name) == ("FAIL", "WAITING")
    assert again.system_attrs["fixed_params"] == trial.params


def test_another_space_is_another_study(tmp_path):
    first = json.loads(study_file(tmp_path).read_text())
    storage = open_storage(str(tmp_path / "journal"))
    tune._study_of(storage, tune.study_from(first), first)
    changed = {**first, "steps": 40, "trials": 9}
    with pytest.raises(
        GaudiError, match=r"Study s was started with other settings: steps is 20, asked for 40; restore them, or choose"
    ):
        tune._study_of(storage, tune.study_from(changed), changed)
    more = {**first, "trials": 9, "pruner": "hyperband"}
    assert tune._study_of(storage, tune.study_from(more), more).user_attrs["definition"]["steps"] == 20


def test_a_study_file_that_was_changed_is_refused(tmp_path):
    path = study_file(tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    assert tune.read_study(path, digest)[0].name == "s"
    path.write_text(path.read_text() + " ")
    with pytest.raises(GaudiError, match="was changed since the job was described"):
        tune.read_study(path, digest)
    path.write_text("{")
    with pytest.raises(GaudiError, match="cannot be read as a study"):
        tune.read_study(path)


def test_missing_packages_are_one_sentence_with_the_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packages, "PACKAGES", ("json", "no_such_package", "no.such.package"))
    with pytest.raises(
        GaudiError, match=r"no_such_package, no.such.package is not in .*, or add tune to gaudi_venv_extras"
    ):
        tune.tune(["report", "--study", str(study_file(tmp_path))])
    tune.tune(["install", "--check"])
    assert capsys.readouterr().out == "would be installed\n"


def test_pip_is_told_what_the_extra_needs_and_never_our_name(tmp_path, monkeypatch):
    """Within the pins that the training stack has left in the environment."""
    started = []

    def refuse(command, **_):
        started.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found for optuna")

    monkeypatch.setattr(packages, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(packages, "requirements_of", lambda extra: {"tune": ["optuna<6,>=5", "plotly"]}[extra])
    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "gaudi3_scale_pins.txt").write_text("optuna==5.0.0\n")
    with pytest.raises(GaudiError, match=r"pip cannot install optuna<6,>=5, plotly into .*: No matching distribution"):
        tune.tune(["install"])
    ((*_pip, _option, pins, first, second),) = started
    assert (pins, first, second) == (str(tmp_path / "gaudi3_scale_pins.txt"), "optuna<6,>=5", "plotly")
    assert not [word for word in started[0] if "gaudi3-scale" in word]


def test_what_is_there_is_not_installed_again(monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was started"))
    tune.tune(["install"])
    assert capsys.readouterr().out == ""


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        make_credentials(tmp_path, "127.0.0.1", 3600)
        with pytest.raises(GaudiError, match=r"gaudi_tune_port \d+ is in use on this node; choose another port"):
            serve(tmp_path / "study.db", f"grpc://127.0.0.1:{taken.getsockname()[1]}", tmp_path)


@pytest.mark.parametrize("where", ["grpc://127.0.0.1:{port}", "nosuch://user:hunter%402@127.0.0.1/x", "sqlite://a:b"])
def test_a_storage_that_cannot_be_reached_is_named_without_its_password(where, port, tmp_path):
    make_credentials(tmp_path, "127.0.0.1", 3600)
    with pytest.raises(GaudiError, match=r"gaudi_tune_storage (grpc|nosuch|sqlite)://[\w.]+ cannot be used") as refused:
        open_storage(where.format(port=port), tmp_path, patience=0.2)
    assert not re.search("hunter|a:b", str(refused.value))


def test_there_is_no_report_of_a_study_that_was_never_begun(tmp_path):
    with pytest.raises(GaudiError, match=r"There is no study in .*study.db; run playbooks/tune_training.yml first"):
        tune.tune(["report", "--study", str(study_file(tmp_path))])
    optuna.create_study(storage=file_url(tmp_path / "study.db"), study_name="another")
    with pytest.raises(GaudiError, match="Study s has no trial yet"):
        tune.tune(["report", "--study", str(tmp_path / "study.json")])


def test_a_node_is_silent_by_the_watchers_own_clock():
    now = [0.0]
    watch = Watch(lambda: now[0])
    nodes = {
        "quiet": {"state": "working", "beat": 5},
        "ahead": {"state": "working", "beat": 1e12},
        "done": {"state": "done", "beat": 5},
    }
    assert watch.silent(nodes) == set()
    now[0], nodes["ahead"]["beat"] = 59.0, 1e12 + 1
    assert watch.silent(nodes) == set()
    now[0] = 61.0
    assert watch.silent(nodes) == {"quiet"}


def test_a_pip_that_fails_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setattr(packages, "PACKAGES", ("no_such_package",))
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution found for optuna<6\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(
        GaudiError, match=r"pip cannot install .*: No matching distribution .*; have these packages put"
    ):
        tune.tune(["install"])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    with pytest.raises(GaudiError, match=r"pip reported success, but no_such_package is still not in"):
        tune.tune(["install"])


def test_no_secret_of_a_study_is_in_a_file_that_others_read_or_in_what_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("GAUDI3_SCALE_TUNE_STORAGE", raising=False)
    secrets = {"WANDB_API_KEY": "planted-key", "TUNED_TRAINER": "fast"}
    path = study_file(tmp_path, trials=2, environment=secrets)
    path.chmod(0o600)
    (tmp_path / "storage").write_text(f"{file_url(tmp_path / 'study.db')}?password=planted-password\n")
    (tmp_path / "storage").chmod(0o600)
    shown = start(path, "n1", "sqlite:///shown", "--storage", tmp_path / "storage")
    said = shown.communicate(timeout=120)[1]
    assert shown.returncode == 0, said
    tune.tune(["report", "--study", str(path), "--storage", str(tmp_path / "storage")])
    reported = (tmp_path / "report.json").read_text()
    assert json.loads(reported)["data"]["done"] == 2
    assert "planted" not in reported + (tmp_path / "figures.html").read_text() + said
    assert "planted" not in (tmp_path / "n1.jsonl").read_text()
    # The study itself is what nodes share, and a site's own database may be everybody's.
    found = optuna.load_study(study_name="s", storage=file_url(tmp_path / "study.db"))
    attributes = [found.user_attrs, *(trial.user_attrs for trial in found.trials)]
    assert "planted" not in json.dumps(attributes)
    readable = {path.name for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_mode & 0o077}
    assert readable == set()


def test_another_secret_is_the_same_study(tmp_path):
    first = json.loads(study_file(tmp_path, environment={"WANDB_API_KEY": "one", "X": "1"}).read_text())
    storage = open_storage(str(tmp_path / "journal"))
    tune._study_of(storage, tune.study_from(first), first)
    renewed = {**first, "environment": {"WANDB_API_KEY": "two", "X": "1"}}
    assert tune._study_of(storage, tune.study_from(renewed), renewed)
    with pytest.raises(
        GaudiError, match=r"started with other settings: environment differs in X; restore them"
    ) as refused:
        tune._study_of(storage, tune.study_from(first), {**first, "environment": {"WANDB_API_KEY": "two", "X": "2"}})
    assert "two" not in str(refused.value)
