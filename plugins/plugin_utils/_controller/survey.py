# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A template's survey, made of the specifications of its playbook's options; pure.

A survey's answer beats the inventory, as any extra variable does. So nothing is asked that is the site's own, and a
question whose option has no default of its own is left unanswered by default. AWX leaves out what was left empty, or
hands it on as an empty text, and which depends on its version. So no empty text is a default, and where the option does
not take one, AWX refuses it by the least length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.questions import QUESTIONS

# Ansible's markup in a description; a survey is plain text.
_MARKUP = re.compile(r"\b(RV|[BCEILMOPRUV])\(([^)]*)\)")
_NUMBERS = {"int": "integer", "float": "float"}
_TRUTHS = ["true", "false"]


def survey(
    playbook: Playbook, defaults: Mapping[str, Any], variables: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The survey as the controller's API has it; empty where nothing is asked.

    ``defaults``: option -> the site's own answer; ``variables``: extra variables of the template, which a default would
    beat. Raises GaudiError for an answer that the option does not take.
    """
    spec = [
        _question(name, playbook, defaults, variables, needed=name in playbook.needs)
        for name in (*playbook.needs, *playbook.asks)
    ]
    return {"name": "", "description": "", "spec": spec} if spec else {}


def refuse_unasked(playbooks: Iterable[Playbook], defaults: Mapping[str, Any]) -> None:
    """Raises GaudiError for a site's answer to a question that no survey has."""
    asked = {name for one in playbooks for template in one.templates for name in (*template.needs, *template.asks)}
    unasked = sorted({*defaults} - asked)
    if unasked:
        raise GaudiError(
            f"gaudi_controller_survey_defaults: no survey asks for {unasked[0]}; set it in the inventory, or remove it."
        )


def _question(
    name: str, playbook: Playbook, defaults: Mapping[str, Any], variables: Mapping[str, Any], needed: bool
) -> dict[str, Any]:
    words = {**QUESTIONS.get(name, {}), **playbook.words.get(name, {})}
    option = {**playbook.options[name], **words}
    kind, choices = _kind(option)
    question = {
        "question_name": words.get("title") or _title(name, playbook.roles),
        "question_description": words.get("text") or _described(option),
        # What the site has said for all launches needs no answer.
        "required": needed and name not in variables,
        "type": kind,
        "variable": name,
        "min": words.get("min", 1 if kind == "text" and (needed or option.get("default") != "") else None),
        "max": words.get("max"),
        "choices": choices,
        "new_question": True,
    }
    default = _default(name, option, kind, choices, defaults, variables, needed)
    return question if default is None else {**question, "default": default}


def _kind(option: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The type of question, and its choices."""
    kind = option.get("type", "str")
    # The API drops an empty choice; who does not answer has chosen it.
    choices = [str(choice) for choice in option.get("choices", []) if choice != ""]
    if kind == "bool":
        return "multiplechoice", _TRUTHS
    if choices:
        return ("multiselect" if kind == "list" else "multiplechoice"), choices
    if option.get("no_log"):
        return "password", []
    if kind == "raw" and isinstance(option.get("default"), int):
        return "integer", []
    return _NUMBERS.get(kind, "text"), []


def _default(
    name: str,
    option: Mapping[str, Any],
    kind: str,
    choices: list[str],
    defaults: Mapping[str, Any],
    variables: Mapping[str, Any],
    needed: bool,
) -> Any:
    if name in defaults:
        return _checked(name, _answer(defaults[name], kind), kind, choices)
    # The controller's page of a survey does not open where a choice has none (awx issue 13640).
    none = "" if kind == "multiplechoice" else None
    value = variables.get(name, option.get("default"))
    # What has to be said is not foretold, and a template is the role's own affair.
    if needed or value is None or value == "" or (isinstance(value, str) and "{{" in value):
        return none
    answer = _answer(value, kind)
    return answer if _fits(answer, kind, choices) else none


def _answer(value: Any, kind: str) -> Any:
    """As the API takes it for a default: of several choices one a line, and a number with a point where one may be."""
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "multiselect":
        return "\n".join(map(str, value)) if isinstance(value, list) else value
    return float(value) if kind == "float" and isinstance(value, int) else value


def _checked(name: str, value: Any, kind: str, choices: list[str]) -> Any:
    if not _fits(value, kind, choices):
        kinds = {"integer": "a whole number", "float": "a number"}
        wanted = f"one of {', '.join(choices)}" if choices else kinds.get(kind, "a text")
        raise GaudiError(f"gaudi_controller_survey_defaults: {name} is {value}; give {wanted}.")
    return value


def _fits(value: Any, kind: str, choices: list[str]) -> bool:
    return {
        "integer": isinstance(value, int),
        "float": isinstance(value, float),
        "multiselect": isinstance(value, str) and {*value.split("\n")} <= {*choices},
        "multiplechoice": value in choices,
    }.get(kind, isinstance(value, str))


def _title(name: str, roles: Iterable[str]) -> str:
    """Max steps, of ``gaudi_training_max_steps``."""
    prefix = max((role for role in roles if name.startswith(f"{role}_")), key=len)
    return name.removeprefix(f"{prefix}_").replace("_", " ").capitalize()


def _described(option: Mapping[str, Any]) -> str:
    said = option["description"]
    text = " ".join([said] if isinstance(said, str) else said)
    return " ".join(_MARKUP.sub(_plain, text).split())


def _plain(found: re.Match[str]) -> str:
    """An option without its plugin (``namespace.name.module#module:option``), a link without its address."""
    if found[1] in ("O", "RV"):
        return re.sub(r"^[\w.]+#\w+:", "", found[2])
    return found[2].rpartition(",")[0] if found[1] == "L" else found[2]
