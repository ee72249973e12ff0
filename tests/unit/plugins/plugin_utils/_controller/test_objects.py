# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.making import (
    CHANGED,
    FOLLOWS,
    MADE,
    SAME,
    make,
    refusal,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import controller_objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.site import Site
from ansible_collections.gaudi3.scale.tests.unit.template_engine import filled_in

ROOT = Path(__file__).resolve().parents[5]
PLAYBOOKS = read_playbooks(ROOT)
NAMES = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
# It makes the templates.
WITHOUT_TEMPLATE = {"configure_controller"}


def objects(**changed: Any) -> dict[str, list[dict[str, Any]]]:
    site = Site(
        **{
            "organization": "Default",
            "prefix": "Gaudi: ",
            "project": "p",
            "scm_url": "https://git.example.org/p.git",
            "scm_branch": "",
            "scm_credential": "",
            "inventory": "Gaudi",
            "inventory_source": {},
            "execution_environment": "ee",
            "execution_environment_image": "",
            "credentials": ["operator"],
            "variables": {},
            "forks": 50,
            "canary": "gaudi[0]",
            "approval_timeout": 0,
            "schedules": {},
            "notifications": [],
            "notify_on": ["error"],
            "survey_defaults": {},
            **changed,
        }
    )
    return controller_objects(site, PLAYBOOKS)


def template(name: str, **changed: Any) -> dict[str, Any]:
    return next(one for one in objects(**changed)["controller_templates"] if one["playbook"] == f"playbooks/{name}.yml")


def test_every_playbook_has_a_template() -> None:
    assert {one.name for one in PLAYBOOKS} == NAMES - WITHOUT_TEMPLATE
    files = {one["playbook"] for one in objects()["controller_templates"]}
    assert files == {f"playbooks/{name}.yml" for name in NAMES - WITHOUT_TEMPLATE}


def test_each_question_is_an_option_of_a_role_of_the_playbook() -> None:
    for one in PLAYBOOKS:
        assert {*one.needs, *one.asks} <= {*one.options}, one.name


def test_what_needs_all_of_its_nodes_lets_nobody_leave_out_some() -> None:
    launch, verify = template("launch_training"), template("verify")
    assert launch["job_slice_count"] == 1
    for prompt in ("ask_limit_on_launch", "ask_job_slice_count_on_launch"):
        assert (launch[prompt], verify[prompt]) == (False, True)


def test_following_ends_by_itself_before_a_controller_ends_it() -> None:
    assert template("launch_training")["extra_vars"] == {"gaudi_training_timeout": 13500}
    assert template("launch_training", variables={"gaudi_training_timeout": 60})["extra_vars"] == {
        "gaudi_training_timeout": 13500
    }


def test_a_launch_asks_for_a_credential_where_none_is_named() -> None:
    assert template("verify", credentials=[])["ask_credential_on_launch"]
    assert not template("verify")["ask_credential_on_launch"]


def test_the_canary_is_upgraded_between_two_approvals() -> None:
    nodes = {one["identifier"]: one for one in objects()["controller_workflows"][1]["simplified_workflow_nodes"]}
    order = ["plan", "begin", "canary", "go-on", "rest"]
    assert list(nodes) == order
    for before, after in zip(order, order[1:]):
        assert nodes[before].get("success_nodes", nodes[before].get("always_nodes")) == [after]
    assert nodes["canary"]["extra_data"] == {"gaudi_hosts": "gaudi[0]"}
    assert {name for name in order if "approval_node" in nodes[name]} == {"begin", "go-on"}


def test_a_training_takes_the_nodes_that_were_found_well() -> None:
    named = objects()["controller_templates"][-1]
    hosts = named["extra_vars"]["gaudi_training_hosts"]
    assert filled_in(hosts, {"gaudi_outcome_qualify_nodes": {"ok_nodes": ["n1"]}}) == ["n1"]
    with pytest.raises(
        AnsibleError, match="launch the workflow Qualify, then launch, or the template Launch a training"
    ):
        filled_in(hosts, {})
    nodes = objects()["controller_workflows"][2]["simplified_workflow_nodes"]
    assert nodes[1]["unified_job_template"] == named["name"]


def test_a_playbook_with_two_surveys_has_two_templates() -> None:
    """One of a program, one of the built-in trainer, which takes neither a program nor prepared tokens."""
    launches = [
        one
        for one in objects(variables={"gaudi_training_data": "/data/tokens"})["controller_templates"]
        if one["playbook"] == "playbooks/launch_training.yml"
    ]
    needed = [[one["variable"] for one in each["survey_spec"]["spec"] if one["required"]] for each in launches]
    assert needed == [["gaudi_training_command"], ["gaudi_training_text"], ["gaudi_training_command"]]
    assert launches[0]["extra_vars"]["gaudi_training_data"] == "/data/tokens"
    assert (launches[1]["extra_vars"]["gaudi_training_command"], launches[1]["extra_vars"]["gaudi_training_data"]) == (
        [],
        "",
    )


def test_no_answer_of_the_upgrade_s_workflow_takes_the_canary_s_place() -> None:
    """A workflow's answer beats what its node says, and so does the default of its question."""
    upgrade = objects()["controller_workflows"][1]
    canary = next(one for one in upgrade["simplified_workflow_nodes"] if one["identifier"] == "canary")
    assert not {*canary["extra_data"]} & {one["variable"] for one in upgrade["survey_spec"]["spec"]}


def test_templates_are_of_the_inventory_that_the_site_has() -> None:
    given = objects(inventory="Cluster", inventory_source={"source": "scm"})
    assert [one["name"] for one in given["controller_inventories"]] == ["Cluster"]
    assert given["controller_inventory_sources"][0]["inventory"] == "Cluster"
    assert {one["inventory"] for one in given["controller_templates"]} == {"Cluster"}


def test_templates_tell_of_what_the_site_wants_to_know() -> None:
    given = objects(notifications=[{"name": "on-call", "notification_type": "webhook"}], notify_on=["error", "success"])
    one = given["controller_templates"][0]
    assert [one[f"notification_templates_{event}"] for event in ("started", "success", "error")] == [
        [],
        ["on-call"],
        ["on-call"],
    ]
    assert given["controller_notifications"][0]["organization"] == "Default"


@pytest.mark.parametrize(
    ("schedules", "sentence"),
    [
        ({"verfy": "DTSTART"}, "there is no playbook verfy"),
        (
            {"plan_upgrade": "DTSTART"},
            "plan_upgrade cannot run unattended, because gaudi_upgrade_release has to be",
        ),
        ({"verify": "daily"}, "the rule of verify is daily; begin it with DTSTART"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused(schedules: dict[str, str], sentence: str) -> None:
    with pytest.raises(GaudiError, match=f"^gaudi_controller_schedules: {sentence}"):
        objects(schedules=schedules)


def made(given: dict[str, list[dict[str, Any]]], answers: list[dict[str, Any]], check_mode: bool = False) -> list[str]:
    said = iter(answers)
    return [step.state for step in make(given, lambda _module, _entry: next(said), "https://awx", check_mode)]


ONE = {"controller_projects": [{"name": "p"}], "controller_inventories": [{"name": "i"}]}


def test_what_became_of_each_is_told() -> None:
    new, old = {"changed": True, "id": 1, "name": "p"}, {"changed": True, "id": 2}
    assert made(ONE, [new, old]) == [MADE, CHANGED]
    assert made(ONE, [{"changed": False, "id": 1}] * 2) == [SAME, SAME]


def test_in_check_mode_what_names_a_new_object_follows_it() -> None:
    missing = {"failed": True, "msg": "Request to /api/v2/projects/?name=p returned 0 items, expected 1"}
    assert made(ONE, [{"changed": True}, missing], check_mode=True) == [MADE, FOLLOWS]
    with pytest.raises(GaudiError):
        made(ONE, [{"changed": False, "id": 1}, missing], check_mode=True)
    with pytest.raises(GaudiError):
        made(ONE, [{"changed": True, "name": "p", "id": 1}, missing])


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("You don't have permission to POST to /api/v2/projects/ (HTTP 403).", "this account may not do that (403)"),
        (
            "Unable to create project p: {'scm_url': ['Invalid']}",
            "Unable to create project p: {'scm_url': ['Invalid']}",
        ),
        ("Request to /api/controller/v2/credentials/?name=x returned 0 items", "it has no credential of that name"),
        ("Request to /api/v2/organizations/?name=x returned 0 items", "it has no organization of that name"),
    ],
)
def test_a_refusal_is_one_sentence_with_the_object_and_the_remedy(said: str, sentence: str) -> None:
    assert refusal(said, "https://awx", "project", "p").startswith(
        f"https://awx: the project p could not be made: {sentence}"
    )
