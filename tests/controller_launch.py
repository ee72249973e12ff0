# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What AWX 24.6.1 makes of a launch: which answers of a survey it refuses, and the extra variables of the job.

By its source (``SurveyJobTemplateMixin``) and its page of a launch, which leaves out what was left empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Question = Mapping[str, Any]
_TEXTS = ("text", "textarea", "password")


def refusals(spec: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Why the API does not start a job with these variables; empty where it does."""
    return [why for question in spec.get("spec", []) for why in _refused(question, given)]


def variables(own: Mapping[str, Any], spec: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The template's own, under the defaults of its survey as far as they are answers, under what was given."""
    found = dict(own)
    for question in spec.get("spec", []):
        default = question.get("default")
        if default is not None and not [*_refused(question, {question["variable"]: default})]:
            found[question["variable"]] = default
    return {**found, **given}


def typed(spec: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """What the page of a launch sends where a person has typed ``answers`` and left the rest as it stood there."""
    sent: dict[str, Any] = {}
    for question in spec.get("spec", []):
        name, default = question["variable"], question.get("default", "")
        if question["type"] == "multiselect" and isinstance(default, str):
            default = default.split("\n") if default else []
        value = answers.get(name, default)
        if value not in ("", []):
            sent[name] = value
    return sent


def _refused(question: Question, given: Mapping[str, Any]) -> Iterator[str]:
    name, kind = question["variable"], question["type"]
    if name not in given:
        if question["required"]:
            yield f"'{name}' value missing"
        return
    yield from _refused_value(question, name, kind, given[name])


def _refused_value(question: Question, name: str, kind: str, value: Any) -> Iterator[str]:
    choices = question["choices"]
    if kind in _TEXTS:
        if not isinstance(value, str):
            yield f"Value {value} for '{name}' expected to be a string."
        else:
            yield from _outside(question, len(value))
    elif kind in ("integer", "float"):
        if type(value) not in ((int,) if kind == "integer" else (int, float)):
            wanted = "an integer" if kind == "integer" else "a numeric type"
            yield f"Value {value} for '{name}' expected to be {wanted}."
        else:
            yield from _outside(question, value)
    elif kind == "multiselect":
        if not isinstance(value, list):
            yield f"'{name}' value is expected to be a list."
        elif not {*value} <= {*choices}:
            yield f"Value {value} for '{name}' expected to be one of {choices}."
    elif value not in choices:
        yield f"Value {value} for '{name}' expected to be one of {choices}."


def _outside(question: Question, size: float) -> Iterator[str]:
    least, most = question.get("min"), question.get("max")
    if least not in ("", None) and size < least:
        yield f"'{question['variable']}' value is too small (must be at least {least})."
    if most not in ("", None) and size > most:
        yield f"'{question['variable']}' value is too large (must be no more than {most})."
