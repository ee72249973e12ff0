# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of an operator, given where the documents say: afterwards they are in private files of a node, and nowhere else.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import run
from tests.small_trainings import SMALL

from . import planted

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("planted")

JOB = "planted"
PATIENCE_S = 300.0
FILE = "/etc/gaudi3_scale/planted.env"
STATE = "/var/lib/gaudi3_scale/"
VENV = "/opt/gaudi3_scale/venv/"
INDEX = "http://robot:{}@packages.sandbox.internal/artifactory/api/pypi/gaudi-python/simple"
# By where each is given.
BEST = f"reports/tune-{JOB}-best.yml"
WAYS = ("HF_TOKEN", "PGPASSWORD", "APIKEY", "address", "file", "index")
KEYS = {way: f"planted{secrets.token_hex(8)}" for way in WAYS}
ENVIRONMENT = {
    **{name: KEYS[name] for name in ("HF_TOKEN", "PGPASSWORD", "APIKEY")},
    "MIRROR": f"https://robot:{KEYS['address']}@mirror.example.com/simple",
}
GIVEN = {"gaudi_training_environment": ENVIRONMENT, "gaudi_training_environment_files": [FILE]}
STUDY = {
    "gaudi_tune_name": JOB,
    "gaudi_tune_trials": 1,
    "gaudi_tune_steps": 10,
    "gaudi_tune_probe": False,
    "gaudi_tune_space": {
        "batch_size": [8],
        "accumulation": None,
        "checkpointing": None,
        "compile": None,
        "workers": None,
    },
    "gaudi_tune_follow_interval": 2,
    "gaudi_training_processes_per_node": 1,
    "gaudi_training_model": {"layers": 1, "width": 32, "heads": 2, "sequence_length": 32},
}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the runs leave on the controller: reports, and what was on the screen with -vvv."""
    return tmp_path_factory.mktemp("left")


@pytest.fixture(scope="module")
def searched(nodes: dict[str, Host]) -> Iterator[dict[str, Host]]:
    for node in nodes.values():
        planted.note(node, list(KEYS.values()))
    # By the nodes' own copies of the keys: a command line would be in their journals.
    at = list(KEYS).index("file") + 1
    for node in nodes.values():
        node.check_output(f"umask 077; echo WANDB_API_KEY=$(sed -n {at}p /dev/shm/planted) > {FILE}")
    yield nodes
    for node in nodes.values():
        node.check_output(f"rm -f {FILE}")
        planted.forget(node)


def played(left: Path, playbook: str, *, verbose: str = "-vvv --diff", **variables: object) -> str:
    reported = {**SMALL, "gaudi_report_target": str(left / "reports"), **variables}
    result = run(left, playbook, arguments=verbose, **reported)
    screen: str = result.stdout.read()
    assert result.status == "successful", screen[-5000:]
    return screen


def wait_for_steps(node: Host) -> None:
    """The nodes' supervisors start the ranks when they have found each other, and these import PyTorch first."""
    end = time.monotonic() + PATIENCE_S
    while node.run(f"grep -q '\"step\"' /var/log/gaudi3_scale/jobs/{JOB}/metrics.jsonl").rc != 0:
        assert time.monotonic() < end, "no step"
        time.sleep(2)


def test_while_a_job_runs_nobody_else_reads_them(searched: dict[str, Host], left: Path) -> None:
    many = {"gaudi_training_max_steps": 100_000, "gaudi_training_batch_size": 8, "gaudi_training_follow": False}
    played(left, "launch_training", gaudi_training_name=JOB, **many, **GIVEN)
    try:
        wait_for_steps(searched["node1"])
        for node in searched.values():
            reported = planted.everybodys(node)
            assert "gaudi3_scale.train" in reported
            assert [way for way, key in KEYS.items() if key in reported] == []
        # The job has them, or all of this would show nothing.
        pid = "$(pgrep -f '[g]audi3_scale.train' | tail -n 1)"
        of_rank = searched["node1"].check_output(f"tr '\\0' '\\n' < /proc/{pid}/environ").splitlines()
        assert {f"{name}={value}" for name, value in ENVIRONMENT.items()} <= set(of_rank)
        assert f"WANDB_API_KEY={KEYS['file']}" in of_rank
    finally:
        played(left, "stop_training", gaudi_training_name=JOB)


@pytest.mark.usefixtures("searched")
def test_playbooks_end_that_are_given_them(left: Path) -> None:
    """Of a probe, a study, what follows and what is only looked at; and of an index that asks who it is."""
    played(left, "probe_batch_size", **GIVEN)
    played(left, "tune_training", **STUDY, **GIVEN)
    played(left, "show_training", gaudi_training_name=JOB)
    played(left, "explain_flags")
    played(left, "venv", gaudi_venv_index_url=INDEX.format(KEYS["index"]))


def test_only_private_files_of_the_nodes_have_them(searched: dict[str, Host]) -> None:
    found = {name: planted.files(node) for name, node in searched.items()}
    for name, files in found.items():
        wide = [(file.path, oct(file.mode)) for file in files if not file.is_private]
        assert wide == [], name
        beside = [file.path for file in files if not file.path.startswith((STATE, VENV)) and file.path != FILE]
        assert beside == [], name
        assert frozenset.union(*(file.keys for file in files)) == set(KEYS.values()), name


def test_the_journals_have_none(searched: dict[str, Host]) -> None:
    assert {name: planted.journal(node) for name, node in searched.items()} == {name: [] for name in searched}


def test_the_controller_keeps_none_but_in_the_file_that_launches_the_best(left: Path) -> None:
    assert (left / "reports").is_dir()
    ways = {key: way for way, key in KEYS.items()}
    found = planted.on_the_controller(left, list(ways))
    # The operator's own environment is in it, for his eyes.
    assert stat.S_IMODE((left / BEST).stat().st_mode) == 0o600
    found.pop(BEST)
    assert {name: {ways[key] for key in keys} for name, keys in found.items()} == {}


def test_another_index_leaves_nothing_of_the_one_before(searched: dict[str, Host], left: Path) -> None:
    """And the nodes are as they were."""
    played(left, "venv")
    for node in searched.values():
        assert [file.path for file in planted.files(node) if KEYS["index"] in file.keys] == []
    for node in searched.values():
        node.check_output(f"rm -rf {STATE}jobs/{JOB} {STATE}tune/{JOB} /var/log/gaudi3_scale/jobs/{JOB}")
