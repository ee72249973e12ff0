# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import answers, refuse_unasked, survey

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
        "min": None,
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
        ("gaudi_x_key", "password", ""),
        ("gaudi_x_trials", "integer", 20),
    ],
)
def test_a_type_becomes_a_type_of_question(name: str, kind: str, default: object) -> None:
    found = question(name)
    assert (found["type"], found["default"]) == (kind, default)
    assert type(found["default"]) is type(default)


@pytest.mark.parametrize("name", ["gaudi_x_mode", "gaudi_x_release", "gaudi_x_flags"])
def test_what_is_the_roles_or_the_inventorys_own_is_left_unanswered(name: str) -> None:
    assert "default" not in question(name)


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
    with pytest.raises(GaudiError, match="no survey asks for gaudi_x_key; set it in the inventory, or take it out"):
        refuse_unasked([playbook("gaudi_x_name")], {"gaudi_x_key": "s"})


def test_the_answers_of_a_launch_are_those_that_nobody_changed() -> None:
    asked = survey(playbook("gaudi_x_kinds", "gaudi_x_mode", "gaudi_x_steps", needs=("gaudi_x_name",)), {})
    assert answers(asked) == {"gaudi_x_kinds": ["a", "b"], "gaudi_x_steps": 20}
    assert answers(survey(playbook(), {})) == {}
