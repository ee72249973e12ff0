# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two nodes tune one training together: real trials, one study, a report and a file that a launch takes.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run
from tests.variables_of import variables_of

STUDY = {
    "gaudi_tune_name": "molecule",
    "gaudi_tune_trials": 4,
    "gaudi_tune_steps": 10,
    "gaudi_tune_pruner": "none",
    "gaudi_tune_probe": False,
    "gaudi_tune_space": {
        "batch_size": {"low": 8, "high": 32, "step": 8},
        "accumulation": None,
        "checkpointing": [False, True],
        "compile": None,
        "workers": None,
    },
    "gaudi_tune_follow_interval": 2,
    "gaudi_training_processes_per_node": 1,
    "gaudi_training_model": {"layers": 1, "width": 32, "heads": 2, "sequence_length": 32},
}
DIRECTORY = "/var/lib/gaudi3_scale/tune/molecule"
PRIVATE = "/etc/gaudi3_scale/tune"
VENV = "/opt/gaudi3_scale/venv/bin/python"
# Each asks what studies there are: Optuna's own client, one that only takes the server for what it is, and a worker.
PEERS = {
    "plain": """
from optuna.storages import GrpcStorageProxy
print(len(GrpcStorageProxy(host='{host}', port=29510).get_all_studies()))
""",
    "nameless": """
import grpc
from optuna.storages._grpc.auto_generated import api_pb2, api_pb2_grpc
shown = grpc.ssl_channel_credentials(open('{private}/authority.pem', 'rb').read())
stub = api_pb2_grpc.StorageServiceStub(grpc.secure_channel('{host}:29510', shown))
print(len(stub.GetAllStudies(api_pb2.GetAllStudiesRequest(), timeout=20).studies))
""",
    "worker": """
from pathlib import Path
from gaudi3_scale.tune.storage import open_storage
print(len(open_storage('grpc://{host}:29510', Path('{private}'), patience=30).get_all_studies()))
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def messages(result: object) -> str:
    failed = [event["event_data"]["res"] for event in result.events if event["event"] == "runner_on_failed"]
    return " ".join(str(res.get("msg", "")) for res in failed)


def test_a_flag_that_nothing_reads_is_refused_before_anything_is_there(tmp_path: Path) -> None:
    flags = {"PT_HPU_ENABLE_ADVANCED_FUSION": ["1"]}
    refused = run(tmp_path, "tune_training", **{**STUDY, "gaudi_tune_name": "refused", "gaudi_tune_flags": flags})
    assert refused.status == "failed"
    assert "PT_HPU_ENABLE_ADVANCED_FUSION must not be set" in messages(refused)
    assert not hosts()["node1"].file("/var/lib/gaudi3_scale/tune/refused").exists


def test_both_nodes_work_and_the_best_is_a_file_for_the_launch(tmp_path: Path, reports: Path) -> None:
    tuned = run(tmp_path, "tune_training", gaudi_report_target=str(reports), **STUDY)
    screen = tuned.stdout.read()
    assert tuned.status == "successful", screen
    assert "done 4 of 4" in screen
    reported = json.loads((reports / "tune-molecule.json").read_text())
    assert [row["state"] for row in reported["sections"][0]["rows"]] == ["ok", "ok"]
    assert sum(row["outcome"] == "ok" for row in reported["rows"]) >= 4
    best = variables_of((reports / "tune-molecule-best.yml").read_text())
    fastest = max(reported["rows"], key=lambda row: row["tokens/s"])
    assert best["gaudi_training_batch_size"] == fastest["batch_size"]
    arguments = best["gaudi_training_arguments"]
    following = arguments[arguments.index("--checkpointing") + 1 :]
    assert (following[:1] != ["off"]) == fastest["checkpointing"]
    page = (reports / "tune-molecule.html").read_text()
    # In the frame, where it is text of this page.
    figure = 'class="plotly-graph-div"'
    assert figure in unescape(page) and figure not in page
    # What a trial leaves behind is nothing.
    assert [node.run(f"ls {DIRECTORY}/trials").stdout for node in hosts().values()] == ["", ""]


@pytest.mark.long
def test_a_stranger_on_another_node_gets_no_answer_from_a_study(tmp_path: Path) -> None:
    # So many trials that it still runs when it is stopped.
    guarded = {
        **STUDY,
        "gaudi_tune_name": "guarded",
        "gaudi_tune_trials": 500,
        "gaudi_tune_follow": False,
    }
    begun = run(tmp_path, "tune_training", **guarded)
    assert begun.status == "successful", begun.stdout.read()
    keeper, other = hosts()["node1"], hosts()["node2"]
    host = keeper.ansible.get_variables()["ansible_host"]
    try:
        # It waits for the study to be let in; so a refusal of the others is none of a port that is closed.
        answers = {name: asked(other, name, host) for name in ("worker", "plain", "nameless")}
        still = asked(other, "worker", host)
        listening = keeper.run("ss -Hltn 'sport = :29510'").stdout.split()
    finally:
        run(tmp_path, "stop_training", gaudi_training_name="tune-guarded")
    assert {name: answer.rc for name, answer in answers.items()} == {"worker": 0, "plain": 1, "nameless": 1}
    assert (answers["worker"].stdout.strip(), still.stdout.strip()) == ("1", "1")
    assert "UNAVAILABLE" in answers["plain"].stderr and "UNAVAILABLE" in answers["nameless"].stderr
    # As ss has an IPv4 address of a socket that could be of either kind.
    assert [place for place in listening if place.endswith(":29510")] == [f"[::ffff:{host}]:29510"]
    for node in (keeper, other):
        modes = node.run(f"stat -c '%a %n' {PRIVATE}/guarded/*.key {PRIVATE}/guarded/*.pem").stdout.split("\n")
        assert {mode.split()[0] for mode in modes if mode} == {"600"}
    # The key of the server is where the study is kept, and nowhere else.
    assert [node.file(f"{PRIVATE}/guarded/server.key").exists for node in (keeper, other)] == [True, False]


def asked(node: Host, peer: str, host: str) -> CommandResult:
    return node.run(f"{VENV} -c %s", PEERS[peer].format(host=host, private=f"{PRIVATE}/guarded"))


@pytest.mark.in_turn
def test_a_study_that_has_its_trials_is_only_shown(tmp_path: Path, reports: Path) -> None:
    again = run(tmp_path, "tune_training", gaudi_report_target=str(reports), **STUDY)
    assert again.status == "successful", again.stdout.read()
    assert sum(again.stats["changed"].values()) == 0
