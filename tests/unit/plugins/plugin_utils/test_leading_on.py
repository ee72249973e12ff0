# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an action fails with names a page, and no other's word for one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._leading_on import leading_on
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

OF_ROLE = SimpleNamespace(get_name=lambda: "gaudi3.scale.gaudi_monitoring")


class Action:
    def __init__(self, result: dict[str, Any] | Exception, role: Any = None) -> None:
        self._task, self._result = SimpleNamespace(action="gaudi3.scale.hpu_info", _role=role), result

    @leading_on
    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        if isinstance(self._result, Exception):
            raise self._result
        return {**self._result, "tmp": tmp, "task_vars": task_vars}


def test_a_failure_names_the_page_of_its_module() -> None:
    result = Action({"failed": True, "msg": "no."}).run(None, task_vars={})
    assert result["see"] == f"docs/first_day.md in {ADDRESS}"
    assert (result["msg"], result["task_vars"]) == ("no.", {})


def test_the_page_of_the_task_s_role_says_more() -> None:
    assert Action({"failed": True}, OF_ROLE).run()["see"] == f"docs/monitoring.md in {ADDRESS}"


def test_what_a_node_says_of_it_is_not_kept() -> None:
    assert "evil" not in str(Action({"failed": True, "see": "https://evil.example.com"}).run())


@pytest.mark.parametrize("result", [{"changed": False}, {"failed": False}, {"skipped": True}])
def test_what_has_not_failed_is_as_it_was(result: dict[str, Any]) -> None:
    assert "see" not in Action(result).run()


def test_what_is_raised_names_it_too() -> None:
    with pytest.raises(AnsibleActionFail) as raised:
        Action(AnsibleActionFail("no.")).run()
    assert dict(raised.value.result)["see"] == f"docs/first_day.md in {ADDRESS}"


def test_each_action_that_has_a_run_of_its_own_leaves_by_the_door() -> None:
    class Own(NodeModule):
        def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
            return {"failed": True, "msg": "no."}

    own = object.__new__(Own)
    own._task = SimpleNamespace(action="gaudi3.scale.report", _role=None)
    assert own.run()["see"] == f"docs/report.md in {ADDRESS}"
