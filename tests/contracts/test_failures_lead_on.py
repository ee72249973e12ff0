# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever fails leads on to a page that exists: tasks of roles and modules here, alerts in test_alerts_page.py."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.pages import REACHING, page_about

from .checkout import ROOT

ROLES = sorted(path.parent.parent.name for path in ROOT.glob("roles/*/meta/main.yml"))
MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/*.py"))


def test_there_is_something_to_ask_of() -> None:
    assert len(ROLES) > 20
    assert len(MODULES) > 50


@pytest.mark.parametrize("role", ROLES)
def test_a_task_of_a_role_that_fails_leads_to_a_page(role: str) -> None:
    page = page_about(f"gaudi3.scale.{role}", "ansible.builtin.assert")
    assert page
    assert (ROOT / page).is_file(), page


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_fails_in_a_playbook_of_others_leads_to_a_page(module: str) -> None:
    page = page_about("", f"gaudi3.scale.{module}")
    assert page
    assert (ROOT / page).is_file(), page


def test_a_host_that_does_not_answer_leads_to_a_page() -> None:
    assert (ROOT / REACHING).is_file()
