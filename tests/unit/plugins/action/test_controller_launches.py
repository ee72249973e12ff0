# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each template and each job of a workflow, launched with nothing but plausible answers to its survey.

By the recorded contract of AWX, and played as far as the controller gets without a node that answers: what it refuses
then, its survey could have prevented.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import ALONE, controller_objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks

from tests.controller_launch import typed
from tests.controller_site import site
from tests.controller_stub import RefusedError
from tests.long_rows import named_rows
from tests.template_launches import answers, job_variables, workflow_jobs

ROOT = Path(__file__).resolve().parents[4]
OBJECTS = controller_objects(site(), read_playbooks(ROOT))
TEMPLATES = {one["name"].removeprefix("Gaudi: "): one for one in OBJECTS["controller_templates"]}
NAMED = {one["name"]: one for one in OBJECTS["controller_templates"]}
ALONE_ON_QUALIFIED = "Launch a training on qualified nodes"
OFF = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}
# That a node does not answer, or that nothing is known for that reason, or of a run before.
OF_NODES = re.compile(
    r"Connection refused|no node has a step of it with tokens/s|no host has such a job"
    r"|none of gaudi_training_hosts responded|qualify_nodes\.json"
)
# Seconds each; those whose survey has to be answered before anything can be done.
SHORT = {
    "Launch a training",
    "Train the built-in model, everything",
    "Compare settings",
    "Tune a training, everything",
    "Report the cost of a training",
    "Report the cost of a training on bought nodes, everything",
    "Measure the storage",
    "Qualify, then launch: launch",
    "Upgrade: canary",
}


def launches() -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Name of a row -> the playbook, and the extra variables of its job."""
    for name, template in TEMPLATES.items():
        for everything in (False, True):
            spec = template["survey_spec"]
            variables = job_variables(template, typed(spec, answers(spec, everything)))
            yield f"{name}{', everything' if everything else ''}", (template["playbook"], variables)
    for workflow in OBJECTS["controller_workflows"]:
        said = answers(workflow.get("survey_spec", {}), everything=True)
        for node, template, variables in workflow_jobs(workflow, NAMED, said):
            yield f"{workflow['name'].removeprefix('Gaudi: ')}: {node}", (template["playbook"], variables)


ROWS = dict(launches())


def refusals(directory: Path, playbook: str, variables: Mapping[str, Any]) -> list[str]:
    """Of what failed, whatever is not that a node does not answer."""
    # What else the playbooks keep is in the home of who plays them.
    record = str(directory / "quarantine.json")
    shared = {"gaudi_report_target": str(directory / "reports"), "gaudi_quarantine_marks": record}
    nodes = {"all": {"vars": shared, "children": {"gaudi": {"hosts": {"node1": OFF, "node2": OFF}}}}}
    inventory = directory / "hosts.yml"
    inventory.write_text(yaml.safe_dump(nodes), encoding="utf-8")
    done = ansible_runner.run(
        private_data_dir=tempfile.mkdtemp(dir=directory),
        playbook=str(ROOT / playbook),
        inventory=str(inventory),
        extravars=dict(variables),
        envvars={"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        quiet=True,
    )
    # Else it was none of ours: no play could begin.
    assert done.stats, done.stdout.read()[-3000:]
    failed = [one["event_data"]["res"] for one in done.events if one["event"] == "runner_on_failed"]
    said = [str(result.get("msg", "")) for result in failed]
    return [message for message in said if not OF_NODES.search(message)]


@pytest.mark.in_turn
@pytest.mark.parametrize(("playbook", "variables"), named_rows(ROWS, SHORT))
def test_a_launch_ends_in_no_refusal_that_its_survey_could_have_prevented(
    playbook: str, variables: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    said = refusals(tmp_path, playbook, variables)
    if f"[{ALONE_ON_QUALIFIED}" in request.node.name:
        # It belongs to a workflow, and no survey can tell whether a qualification came before.
        assert said
        assert all(ALONE in one for one in said), said
    else:
        assert said == []


def test_a_program_s_line_that_no_shell_would_take_is_refused_before_a_node_is_asked(tmp_path: Path) -> None:
    given = {"gaudi_training_command": "/srv/train.py --note 'two words"}
    said = refusals(tmp_path, "playbooks/launch_training.yml", given)
    assert len(said) == 1
    assert said[0].startswith("gaudi_training_command is /srv/train.py --note 'two words, with a quotation mark or a")


def test_each_row_of_the_short_run_is_there() -> None:
    assert {*ROWS} >= SHORT


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_has_to_be_said_is_asked_for_by_the_controller(name: str) -> None:
    """A launch without it is none: the controller names what is missing, before a job is there."""
    spec = TEMPLATES[name]["survey_spec"]
    needed = [one["variable"] for one in spec["spec"] if one["required"]]
    for missing in needed:
        said = {option: value for option, value in answers(spec, everything=True).items() if option != missing}
        with pytest.raises(RefusedError) as refused:
            job_variables(TEMPLATES[name], typed(spec, said))
        assert refused.value.said["variables_needed_to_start"] == [f"'{missing}' value missing"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_was_left_empty_is_not_given(name: str) -> None:
    """Whether the page leaves it out, as that of AWX 24, or hands on an empty text, as others do."""
    spec = TEMPLATES[name]["survey_spec"]
    said = answers(spec, everything=False)
    own = TEMPLATES[name]["extra_vars"]
    started = job_variables(TEMPLATES[name], typed(spec, said))
    for one in spec["spec"]:
        if one["variable"] not in said and "default" not in one:
            assert started.get(one["variable"]) == own.get(one["variable"])
        if one["type"] == "text" and one["min"]:
            with pytest.raises(RefusedError, match="too small"):
                job_variables(TEMPLATES[name], {**typed(spec, said), one["variable"]: ""})
