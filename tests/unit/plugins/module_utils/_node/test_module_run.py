# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a module meets, it ends with a result or in a sentence, and no option is used that was not checked."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import HIDDEN

SPEC = {"name": {"type": "str", "default": "x"}, "count": {"type": "int", "default": 0}, "free": {"type": "dict"}}


class EndedError(BaseException):
    """As SystemExit, by which Ansible's class ends."""


class Ansible:
    """Ansible's class as far as it is used; ``given`` are the options of the task, ``ended`` how it ended."""

    given: Mapping[str, Any]
    ended: list[tuple[str, dict[str, Any]]]
    _name = "gaudi3.scale.hpu_power"

    def __init__(self, argument_spec: Mapping[str, Mapping[str, Any]], supports_check_mode: bool = False) -> None:
        self.argument_spec = argument_spec
        self.check_mode = supports_check_mode
        self.warned: list[str] = []
        self.params = {name: self.given.get(name, rules.get("default")) for name, rules in argument_spec.items()}

    def warn(self, warning: str) -> None:
        self.warned.append(warning)

    def exit_json(self, **result: Any) -> NoReturn:
        self.ended.append(("exit", {**result, "invocation": self.params, "warned": self.warned}))
        raise EndedError

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        self.ended.append(("fail", {"msg": msg, **result, "invocation": self.params}))
        raise EndedError


def run(answer: Any, given: Mapping[str, Any] | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
    task = type("Task", (Ansible,), {"given": given or {}, "ended": []})
    with pytest.raises(EndedError):
        run_module(task, answer, argument_spec=SPEC, supports_check_mode=True, **more)
    (ended,) = task.ended
    return ended


def raising(error: BaseException) -> Any:
    def answer(_options: dict[str, Any], _module: Any) -> NoReturn:
        raise error

    return answer


def test_what_it_answers_is_the_result_and_it_is_given_options_and_module() -> None:
    how, result = run(lambda options, module: {"name": options["name"], "checks": module.check_mode}, {"name": "y"})
    assert (how, result["name"], result["checks"]) == ("exit", "y", True)


def test_warnings_of_an_answer_are_shown_as_such() -> None:
    _how, result = run(lambda _options, _module: {"changed": False, "warnings": ["a.", "b."]})
    assert (result["warned"], "warnings" in result) == (["a.", "b."], False)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GaudiError("cards is 9; give 8.", cards=9), "cards is 9; give 8."),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x"), "/x: No space left on device; free some space"),
        (KeyError("x"), "this is a bug of gaudi3.scale: KeyError in "),
        (RecursionError(), "this is a bug of gaudi3.scale: RecursionError in "),
    ],
)
def test_whatever_it_meets_it_ends_in_a_sentence(error: BaseException, said: str) -> None:
    how, result = run(raising(error), of_failure={"trials": []})
    assert how == "fail"
    assert result["msg"].startswith(said)
    assert result["trials"] == []


def test_a_failure_that_says_otherwise_wins() -> None:
    _how, result = run(raising(GaudiError("no.", trials=[1])), of_failure={"trials": []})
    assert result["trials"] == [1]


def test_an_answer_that_is_no_mapping_is_a_bug_and_still_a_sentence() -> None:
    how, result = run(lambda _options, _module: None)
    assert (how, "this is a bug of gaudi3.scale" in result["msg"]) == ("fail", True)


def test_a_module_that_fails_by_itself_has_failed_once() -> None:
    how, result = run(lambda _options, module: module.fail_json(msg="unfit.", checks=[1]))
    assert (how, result["msg"], result["checks"]) == ("fail", "unfit.", [1])


def test_a_failure_leads_on_to_the_module_s_page() -> None:
    _how, result = run(raising(GaudiError("no.")))
    assert result["see"].startswith("docs/cost.md in https://")


@pytest.mark.parametrize(
    ("given", "excepted"),
    [
        ({"name": ""}, {"empty": ("name",)}),
        ({"name": "a\nb"}, {"text": ("name",)}),
        ({"count": -1}, {"signed": ("count",)}),
        ({"name": "x" * 5_000_000}, {"long": ("name",)}),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_done(
    given: dict[str, Any], excepted: dict[str, Any]
) -> None:
    asked: list[Any] = []

    def answer(options: dict[str, Any], _module: Any) -> dict[str, Any]:
        asked.append(options)
        return {}

    assert run(answer, given)[0] == "fail" and not asked
    assert run(answer, given, **excepted)[0] == "exit" and len(asked) == 1


def test_forms_are_asked_too() -> None:
    def form(option: str, value: Any) -> None:
        raise GaudiError(f"{option} is {value}; give another.")

    _how, result = run(lambda _options, _module: {}, {"name": "y"}, forms={"name": form})
    assert result["msg"] == "name is y; give another."


@pytest.mark.parametrize("answer", [lambda _options, _module: {}, raising(GaudiError("no."))])
def test_no_secret_among_the_options_is_shown(answer: Any) -> None:
    _how, result = run(answer, {"free": {"HF_TOKEN": "Planted1"}})
    assert result["invocation"]["free"] == {"HF_TOKEN": HIDDEN}
