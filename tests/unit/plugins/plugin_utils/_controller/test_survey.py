# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import refuse_unasked, survey

from tests.controller_launch import refusals, typed, variables

OPTIONS = {
    "gaudi_x_name": {"description": "Name of V(it), see O(gaudi_x_steps).", "default": "job"},
    "gaudi_x_steps": {"description": ["How many.", "At least one."], "type": "int", "default": 20},
    "gaudi_x_share": {"description": "How much.", "type": "float", "default": 1},
    "gaudi_x_follow": {"description": "Whether.", "type": "bool", "default": True},
    "gaudi_x_mode": {"description": "Which.", "choices": ["", "bf16", "fp32"], "default": ""},
    "gaudi_x_kinds": {"description": "Which.", "type": "list", "choices": ["a", "b"], "default": ["a", "b"]},
    "gaudi_x_key": {"description": "Secret.", "no_log": True, "default": ""},
    "gaudi_x_release": {"description": "R.", "default": "{{ gaudi_release | default('1.24.1') }}"},
    "gaudi_x_trials": {"description": "T.", "type": "raw", "default": 20},
    "gaudi_x_flags": {"description": "F.", "type": "raw", "default": []},
    "gaudi_x_note": {"description": "N.", "default": ""},
}


def playbook(*asks: str, needs: tuple[str, ...] = ()) -> Playbook:
    return Playbook("x", "X", "Does it.", "nothing", needs, asks, False, ("gaudi_x", "gaudi"), OPTIONS)


def question(name: str, **defaults: object) -> dict[str, object]:
    return survey(playbook(name), defaults)["spec"][0]


def test_a_question_says_what_the_specification_says() -> None:
    assert question("gaudi_x_name") == {
        "question_name": "Name",
        "question_description": "Name of it, see gaudi_x_steps.",
        "required": False,
        "type": "text",
        "variable": "gaudi_x_name",
        "min": 1,
        "max": None,
        "choices": [],
        "new_question": True,
        "default": "job",
    }


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("gaudi_x_steps", "integer", 20),
        ("gaudi_x_share", "float", 1.0),
        ("gaudi_x_follow", "multiplechoice", "true"),
        ("gaudi_x_kinds", "multiselect", "a\nb"),
        ("gaudi_x_trials", "integer", 20),
    ],
)
def test_a_type_becomes_a_type_of_question(name: str, kind: str, default: object) -> None:
    found = question(name)
    assert (found["type"], found["default"]) == (kind, default)
    assert type(found["default"]) is type(default)


@pytest.mark.parametrize("name", ["gaudi_x_key", "gaudi_x_release", "gaudi_x_flags"])
def test_what_is_the_roles_or_the_inventorys_own_is_left_unanswered(name: str) -> None:
    assert "default" not in question(name)


def test_a_choice_without_an_answer_has_an_empty_one() -> None:
    """The controller's page of a survey does not open else, and no job gets it as a variable."""
    asked = survey(playbook("gaudi_x_mode"), {})
    assert asked["spec"][0]["default"] == ""
    assert variables({}, asked, typed(asked, {})) == {}


@pytest.mark.parametrize(("name", "least"), [("gaudi_x_name", 1), ("gaudi_x_flags", 1), ("gaudi_x_note", None)])
def test_an_empty_text_is_refused_by_the_controller_where_the_option_takes_none(name: str, least: object) -> None:
    asked = survey(playbook(name), {})
    assert asked["spec"][0]["min"] == least
    assert bool(refusals(asked, {name: ""})) == (least == 1)
    # What was left empty on the page is no answer at all.
    assert refusals(asked, typed(asked, {name: ""})) == []


def test_what_is_needed_may_not_be_empty() -> None:
    asked = survey(playbook(needs=("gaudi_x_note",)), {})
    assert refusals(asked, {}) == ["'gaudi_x_note' value missing"]
    assert refusals(asked, {"gaudi_x_note": ""})


def test_a_playbook_s_own_words_come_before_those_of_the_option() -> None:
    words = {"gaudi_x_steps": {"title": "Steps per run", "text": "How many to run.", "min": 1, "default": None}}
    found = survey(replace(playbook("gaudi_x_steps"), words=words), {})["spec"][0]
    assert (found["question_name"], found["question_description"], found["min"]) == (
        "Steps per run",
        "How many to run.",
        1,
    )
    assert "default" not in found


def test_what_the_site_gives_all_templates_is_no_question_s_default_to_beat() -> None:
    site = {"gaudi_x_name": "llama", "gaudi_x_flags": ["A=1"], "gaudi_x_steps": "{{ steps }}"}
    asked = survey(playbook("gaudi_x_name", "gaudi_x_steps", needs=("gaudi_x_flags",)), {}, site)
    flags, name, steps = asked["spec"]
    assert name["default"] == "llama"
    assert "default" not in steps
    # It is answered already, in a form that nobody can type.
    assert (flags["required"], "default" in flags) == (False, False)
    assert variables(site, asked, typed(asked, {})) == site


def test_an_empty_choice_is_no_choice_for_the_api() -> None:
    assert question("gaudi_x_mode")["choices"] == ["bf16", "fp32"]


def test_what_is_needed_comes_first_and_is_not_foretold() -> None:
    spec = survey(playbook("gaudi_x_steps", needs=("gaudi_x_name",)), {})["spec"]
    assert [(one["variable"], one["required"], "default" in one) for one in spec] == [
        ("gaudi_x_name", True, False),
        ("gaudi_x_steps", False, True),
    ]


def test_a_site_answers_for_itself() -> None:
    assert question("gaudi_x_mode", gaudi_x_mode="bf16")["default"] == "bf16"
    assert question("gaudi_x_follow", gaudi_x_follow=False)["default"] == "false"
    assert question("gaudi_x_kinds", gaudi_x_kinds=["b"])["default"] == "b"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("gaudi_x_mode", "fp64", "gaudi_x_mode is fp64; give one of bf16, fp32."),
        ("gaudi_x_kinds", ["c"], "gaudi_x_kinds is c; give one of a, b."),
        ("gaudi_x_steps", "many", "gaudi_x_steps is many; give a whole number."),
        ("gaudi_x_share", "much", "gaudi_x_share is much; give a number."),
        ("gaudi_x_name", 7, "gaudi_x_name is 7; give a text."),
    ],
)
def test_an_answer_that_cannot_be_meant_is_refused(name: str, value: object, sentence: str) -> None:
    with pytest.raises(GaudiError, match=f"^gaudi_controller_survey_defaults: {sentence}$"):
        question(name, **{name: value})


def test_an_answer_to_no_question_is_refused() -> None:
    with pytest.raises(GaudiError, match="no survey asks for gaudi_x_key; set it in the inventory, or remove it"):
        refuse_unasked([playbook("gaudi_x_name")], {"gaudi_x_key": "s"})


def test_the_answers_of_a_launch_are_those_that_nobody_changed() -> None:
    asked = survey(playbook("gaudi_x_kinds", "gaudi_x_mode", "gaudi_x_steps", needs=("gaudi_x_name",)), {})
    assert typed(asked, {}) == {"gaudi_x_kinds": ["a", "b"], "gaudi_x_steps": 20}
    assert typed(survey(playbook(), {}), {}) == {}
