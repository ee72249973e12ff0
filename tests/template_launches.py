# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A launch of a template as a person makes it on a controller: what is typed, and what the playbook is started with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.controller_launch import refusals, typed, variables
from tests.controller_stub import Controller, refuse_bad_survey

INVENTORIES = Path(__file__).resolve().parents[1] / "inventories"
# What a person types where no default stands, nor a choice: by the option.
PLAUSIBLE: Mapping[str, Any] = {
    "gaudi_audit_job": "llama",
    "gaudi_batch_workload": "gaudi3_scale.workloads:causal_language_model",
    "gaudi_bundle_fingerprint": "0123456789ABCDEF0123456789ABCDEF01234567",
    "gaudi_bundle_host": "node1",
    "gaudi_compare_flags": "PT_HPU_LAZY_MODE=0",
    "gaudi_compare_workload": "gaudi3_scale.workloads:causal_language_model",
    "gaudi_cost_capital": "price=160000, years=4, utilization=0.8",
    "gaudi_cost_currency": "EUR",
    "gaudi_cost_job": "llama",
    "gaudi_cost_kwh": 0.21,
    "gaudi_cost_node_hour": 12.5,
    "gaudi_cost_overhead_watts": 900,
    "gaudi_cost_pue": 1.3,
    "gaudi_cost_serving": "chat",
    "gaudi_upgrade_canary": "node1",
    "gaudi_upgrade_node": "node1",
    "gaudi_upgrade_release": "1.24.1",
    "gaudi_firmware_canary": "node1",
    "gaudi_kubernetes_image": f"registry.example.org/llama@sha256:{'0' * 64}",
    "gaudi_kubernetes_resources": "memory=690Gi, hugepages-2Mi=42000Mi",
    "gaudi_kubernetes_version": "1.34",
    "gaudi_image_code": "/srv/checkout/llm",
    "gaudi_image_host": "builder",
    "gaudi_image_name": "llm",
    # No other tool's, and a folder that is there.
    "gaudi_migration_sources": str(INVENTORIES / "bare_metal"),
    "gaudi_model_alias": "candidate",
    "gaudi_model_expected": f"{0:064x}",
    "gaudi_model_fingerprint": f"{0:064x}",
    "gaudi_model_host": "node1",
    "gaudi_model_job": "llama",
    "gaudi_model_license": "CC0-1.0",
    "gaudi_model_name": "llama",
    "gaudi_model_path": "/shared/exports/llama",
    "gaudi_model_registry": "/shared/models",
    "gaudi_model_version": "production",
    # What the cards of the simulated nodes have.
    "gaudi_power_watts": 850,
    "gaudi_quarantine_node": "node2",
    "gaudi_quarantine_owner": "ticket-4711",
    "gaudi_serial": "1",
    "gaudi_serving_name": "chat",
    "gaudi_storage_directory": "/var/tmp",
    "gaudi_storage_files": 1,
    "gaudi_storage_job": "llama",
    "gaudi_support_jobs": "llama",
    "gaudi_training_batch_size": 8,
    "gaudi_training_command": "/srv/trainee.py {max_steps} 0.2 --note 'two words'",
    "gaudi_training_model": "layers=2, width=64",
    "gaudi_training_name": "llama",
    "gaudi_training_text": "/usr/share/common-licenses/GPL-2, /usr/share/common-licenses/GPL-3",
    "gaudi_flags_explain_file": "/etc/gaudi3_scale/environment",
    "gaudi_flags_explain_flags": "PT_HPU_LAZY_MODE=0",
    "gaudi_flags_explain_job": "llama",
    "gaudi_tune_text": "/usr/share/common-licenses",
}

# What a qualification hands on to the jobs after it.
QUALIFIED: Mapping[str, Any] = {"gaudi_outcome_qualify_nodes": {"ok_nodes": ["node1", "node2"]}}


def answers(spec: Mapping[str, Any], everything: bool) -> dict[str, Any]:
    """Of all questions, or of those that have to be answered: the default, else the first choice, else PLAUSIBLE's."""
    found = {}
    for question in spec.get("spec", []):
        name = question["variable"]
        if question.get("default", "") != "" or not (everything or question["required"]):
            continue
        found[name] = question["choices"][0] if question["choices"] else PLAUSIBLE.get(name, "")
    return {name: value for name, value in found.items() if value != ""}


def job_variables(template: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The extra variables of the job that the controller starts; raises RefusedError where it starts none.

    ``given``: what the launch sends, by a person's page or by a workflow.
    """
    controller = Controller()
    project = controller.add("projects", {"name": "p"})["id"]
    made = {
        "name": template["name"],
        "project": project,
        "playbook": template["playbook"],
        "extra_vars": json.dumps(template["extra_vars"]),
        "survey_enabled": template["survey_enabled"],
        "ask_variables_on_launch": template["ask_variables_on_launch"],
    }
    number = controller.add("job_templates", made)["id"]
    refuse_bad_survey(template["survey_spec"])
    controller.surveys["job_templates", number] = dict(template["survey_spec"])
    _status, job = controller.answer("POST", f"job_templates/{number}/launch/", {}, {"extra_vars": dict(given)})
    found: dict[str, Any] = json.loads(job["extra_vars"])
    return found


def workflow_jobs(
    workflow: Mapping[str, Any], templates: Mapping[str, Mapping[str, Any]], said: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Any]]]:
    """Of each node that is a job: its name, its template and the extra variables of its job.

    A workflow's variables, the defaults of its survey among them, beat those of its nodes and of the jobs before.
    """
    spec = workflow.get("survey_spec", {})
    sent = typed(spec, said)
    assert refusals(spec, sent) == []
    for node in workflow["simplified_workflow_nodes"]:
        if "unified_job_template" in node:
            template = templates[node["unified_job_template"]]
            given = {**node.get("extra_data", {}), **QUALIFIED, **variables({}, spec, sent)}
            yield node["identifier"], template, job_variables(template, given)
