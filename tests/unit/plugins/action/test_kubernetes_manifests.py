# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``render_kubernetes.yml`` as an operator plays it: the file, a second run, check mode, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import survey
from ansible_collections.gaudi3.scale.tests.unit.described_pods import IMAGE, INSTANCE, RESOURCES

from tests.template_launches import answers

ROOT = Path(__file__).resolve().parents[4]
JOB = {
    "gaudi_training_name": "llama",
    "gaudi_training_command": "/srv/train.py --max-steps {max_steps}",
    "gaudi_training_max_steps": 1000,
    "gaudi_training_checkpoint_directory": "/checkpoints/llama",
    "gaudi_kubernetes_image": IMAGE,
    "gaudi_kubernetes_nodes": 2,
    "gaudi_kubernetes_resources": RESOURCES,
    "gaudi_kubernetes_volumes": [{"claim": "checkpoints", "path": "/checkpoints"}],
}
CHANGED, SAME = "changed=1", "changed=0"
# Variables and further arguments -> the exit status, and the screen.
Render = Callable[..., tuple[int, str]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """Run render_kubernetes.yml in a directory of its own; ``inventory`` is that of the site."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)

    def run(variables: dict[str, Any], *arguments: str, inventory: str = "localhost,") -> tuple[int, str]:
        ended = subprocess.run(
            [
                Path(sys.executable).with_name("ansible-playbook"),
                ROOT / "playbooks" / "render_kubernetes.yml",
                "-i",
                inventory,
                "-e",
                json.dumps(variables),
                *arguments,
            ],
            cwd=tmp_path,
            env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


def objects(path: Path) -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))}


def test_a_launch_s_variables_become_a_file_and_a_second_run_changes_nothing(play, tmp_path):
    path = tmp_path / "gaudi3_scale_kubernetes" / "llama.yml"
    status, screen = play(JOB, "--check", "--diff")
    assert status == 0, screen
    assert not path.parent.exists()
    assert "+kind: Job" in screen and "would be written" in screen
    status, screen = play(JOB)
    assert status == 0 and CHANGED in screen, screen
    assert f"{path}: written (ConfigMap, Service, Job; 2 pods). To start it: kubectl apply -f {path}" in screen
    (container,) = objects(path)["Job"]["spec"]["template"]["spec"]["containers"]
    assert container["command"][-3:] == ["/srv/train.py", "--max-steps", "1000"]
    status, screen = play(JOB)
    assert status == 0 and SAME in screen and f"{path}: unchanged" in screen, screen


def test_instances_that_serve_become_deployments(play, tmp_path):
    shared = {key: JOB[key] for key in ("gaudi_kubernetes_image", "gaudi_kubernetes_resources")}
    given = {
        **shared,
        "gaudi_kubernetes_kind": "Deployment",
        "gaudi_kubernetes_secrets": ["key"],
        "gaudi_kubernetes_volumes": [{"claim": "models", "path": "/models", "read_only": True}],
        "gaudi_serving_instances": [INSTANCE, {**INSTANCE, "name": "draft", "port": 8001, "cards": 1}],
        "gaudi_serving_drain_timeout": 30,
    }
    path = tmp_path / "gaudi3_scale_kubernetes" / "serving.yml"
    status, screen = play(given)
    assert status == 0 and CHANGED in screen, screen
    assert f"{path}: written (Service, Deployment, Service, Deployment; 2 pods)." in screen
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    assert names == ["chat", "chat", "draft", "draft"]
    assert "terminationGracePeriodSeconds: 70" in path.read_text(encoding="utf-8")
    status, screen = play(given)
    assert status == 0 and SAME in screen, screen
    status, screen = play({**given, "gaudi_serving_engine_version": "0.9.0"})
    assert status != 0 and "gaudi_serving_engine_version is 0.9.0, and before 0.10.1" in screen, screen


def test_the_built_in_trainer_and_the_hosts_of_an_inventory(play, tmp_path):
    """Pods are as many as the job has hosts, and variables of the nodes' group count."""
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "gaudi.yml").write_text(
        "gaudi_release: 1.23.0\ngaudi_fabric_provider: roce\ngaudi_cards_per_node: 8\n"
    )
    (tmp_path / "hosts.ini").write_text("[gaudi]\nn1\nn2\nn3\n")
    given = {**JOB, "gaudi_training_command": [], "gaudi_training_text": ["/data"], "gaudi_training_batch_size": 4}
    given = {**given, "gaudi_kubernetes_nodes": 0, "gaudi_kubernetes_kind": "jobset"}
    status, screen = play(given, inventory="hosts.ini")
    assert status == 0, screen
    path = tmp_path / "gaudi3_scale_kubernetes" / "llama.yml"
    assert "Kubernetes 1.34, release 1.23.0-" in path.read_text().partition("---")[0]
    found = objects(path)
    (job,) = found["JobSet"]["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["completions"] == 3
    assert found["ConfigMap"]["data"]["RDMAV_FORK_SAFE"] == "1"
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    words = container["command"]
    assert words[words.index("-m") : words.index("-m") + 4] == ["-m", "gaudi3_scale.train", "--text", "/data"]


def test_a_survey_s_answers_are_enough_beside_what_the_inventory_has(play, tmp_path):
    """A controller gives texts; the inventory has the resources and the claims."""
    known = {one.name: one for one in read_playbooks(ROOT)}["render_kubernetes"]
    given = answers(survey(known, {}), everything=True)
    assert {*known.needs} <= {*given}
    rest = {name: JOB[name] for name in ("gaudi_kubernetes_resources", "gaudi_kubernetes_volumes")}
    texts = {"gaudi_kubernetes_nodes": "4", "gaudi_training_processes_per_node": "8"}
    status, screen = play({**given, **rest, **texts})
    assert status == 0, screen
    (path,) = (tmp_path / "gaudi3_scale_kubernetes").iterdir()
    assert objects(path)["Job"]["spec"]["completions"] == 4


@pytest.mark.parametrize(
    ("name", "value"), [("gaudi_training_environment", '{"A": "1"}'), ("gaudi_cards_per_node", "4")]
)
def test_a_variable_that_only_the_nodes_have_is_refused(play, tmp_path, name, value):
    (tmp_path / "hosts.ini").write_text(f"[gaudi]\nn1 {name}='{value}'\n")
    status, screen = play(JOB, inventory="hosts.ini")
    assert status == 2
    assert (
        f"{name} is set for the hosts of gaudi_hosts alone, and this play runs on localhost; set it in "
        "group_vars/all.yml, or give it with -e." in screen
    )
    assert not (tmp_path / "gaudi3_scale_kubernetes").exists()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"gaudi_training_processes_per_node": 0.5},
            "gaudi_training_processes_per_node is 0.5, and cards cannot be split",
        ),
        ({"gaudi_training_comand": []}, "did you mean gaudi_training_command?"),
        ({"gaudi_kubernetes_directory": "/dev/null"}, "gaudi_kubernetes_directory /dev/null"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(play, tmp_path, given, sentence):
    status, screen = play({**JOB, **given})
    assert status == 2
    assert sentence in screen
    assert "Traceback" not in screen
    assert not (tmp_path / "gaudi3_scale_kubernetes").exists()
