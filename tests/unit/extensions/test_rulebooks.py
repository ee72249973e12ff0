# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The rulebooks against ansible-rulebook's own schema, and the one that launches a template against the template."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import ansible_rulebook
import jsonschema
import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import controller_objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from ansible_collections.gaudi3.scale.tests.unit.hostile_node import CONTROLLER, hostile_node

from tests.controller_launch import refusals
from tests.controller_site import site
from tests.controller_stub import TOKEN, Controller, served
from tests.rulebook_process import running, said, waits

ROOT = Path(__file__).resolve().parents[3]
RULEBOOKS = sorted((ROOT / "extensions" / "eda" / "rulebooks").glob("*.yml"))
SCHEMA = json.loads((Path(ansible_rulebook.__file__).parent / "schema" / "ruleset_schema.json").read_text())


def ruleset(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())[0]
    return found


def rule(name: str) -> dict[str, Any]:
    found: dict[str, Any] = ruleset(ROOT / "extensions" / "eda" / "rulebooks" / f"{name}.yml")["rules"][0]
    return found


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_a_rulebook_is_one_for_ansible_rulebook(path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text()), SCHEMA)


def test_both_let_the_same_alerts_through() -> None:
    here, there = (ruleset(path) for path in RULEBOOKS)
    here["rules"][0].pop("action")
    there["rules"][0].pop("action")
    assert here == there


def test_the_controller_s_launches_the_template_that_is_made_and_answers_its_survey() -> None:
    action = rule("quarantine_by_template")["action"]["run_job_template"]
    templates = controller_objects(site(), read_playbooks(ROOT))["controller_templates"]
    template = next(one for one in templates if f"default('{one['name']}')" in action["name"])
    assert template["playbook"] == "playbooks/quarantine_node.yml"
    assert f"default('{template['organization']}')" in action["organization"]
    assert template["ask_variables_on_launch"]
    assert refusals(template["survey_spec"], action["job_args"]["extra_vars"]) == []
    assert action["job_args"]["extra_vars"] == rule("quarantine")["action"]["run_playbook"]["extra_vars"]
    assert action["include_events"] is False


def alert(port: int, **labels: str) -> None:
    """As Alertmanager sends it."""
    named = {"alertname": "GaudiCardLost", "gaudi_action": "quarantine", **labels}
    body = {"version": "4", "alerts": [{"status": "firing", "labels": named, "annotations": {"note": "{{ 1 }}"}}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/alerts",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer alerts-token"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def test_an_alert_launches_the_template_with_the_node_and_a_hostile_one_launches_nothing(tmp_path: Path) -> None:
    """By a real ansible-rulebook, against the recorded contract."""
    controller = Controller()
    organization = controller.named("organizations", "Default")["id"]
    project = controller.add("projects", {"name": "p", "organization": organization})
    template = {"name": "Gaudi: Quarantine a node", "project": project["id"], "organization": organization}
    asks = {"ask_variables_on_launch": True, "survey_enabled": False, "playbook": "playbooks/quarantine_node.yml"}
    controller.add("job_templates", {**template, **asks})
    with served(controller) as host:
        arguments = ["--controller-url", host, "--controller-token", TOKEN]
        nodes: dict[str, Any] = {"node1": {}, "node2": {}}
        with running(tmp_path, "quarantine_by_template", "alerts-token", nodes, arguments=arguments) as port:
            alert(port, instance="{{ lookup('pipe', 'id') }}")
            alert(port, instance="node1:9100", alertname="{{ 1 }}")
            alert(port, instance="node2:9100", note="{{ lookup('pipe', 'id') }}")
            assert waits(lambda: controller.objects["jobs"], 60), said(tmp_path)
    launched = [json.loads(one["extra_vars"]) for one in controller.objects["jobs"].values()]
    assert [one.pop("ansible_eda", {}).get("event") for one in launched] == [None], said(tmp_path)
    assert launched == [
        {
            "gaudi_quarantine_node": "node2:9100",
            "gaudi_quarantine_reason": "alert GaudiCardLost",
            "gaudi_quarantine_owner": "alerts",
        }
    ]


def test_a_hostile_node_that_raises_its_own_alert_runs_nothing_on_the_machine_that_watches(tmp_path: Path) -> None:
    """By a real ansible-rulebook, started as docs/controller.md says: with no configuration of ours."""
    taken_over, theirs = tmp_path / "taken_over", tmp_path / "theirs.cfg"
    theirs.write_text("[defaults]\n")
    nodes: dict[str, Any] = {"node1": hostile_node(tmp_path, taken_over), **CONTROLLER}
    with running(tmp_path, "quarantine", "alerts-token", nodes, configuration=theirs) as port:
        alert(port, instance="node1:9100")
        assert waits(lambda: "PLAY RECAP" in said(tmp_path), 120), said(tmp_path)
    assert "inject_facts_as_vars is on" in (tmp_path / "rulebook.log").read_text()
    assert not taken_over.exists()
