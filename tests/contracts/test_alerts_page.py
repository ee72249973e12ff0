# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each alert tells what happened, what to run and where more is written, and that is there."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._prometheus.options import ALERTS_PAGE

from .checkout import ROOT, read_yaml

RULES = ROOT / "roles/gaudi_monitoring/files/rules"
GROUPS = [group for place in sorted(RULES.glob("*.yml")) for group in read_yaml(place)["groups"]]
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in GROUPS for rule in group["rules"] if "alert" in rule
}
PAGE = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_to_run_and_links_to_its_section(name: str) -> None:
    annotations = ALERTS[name]["annotations"]
    assert {*annotations} == {"summary", "remedy", "runbook_url"}
    # As the builder of the site and the forge both make a heading's anchor: lower case.
    assert annotations["runbook_url"] == f"{ALERTS_PAGE}#{name.lower()}"


def test_the_page_has_a_section_for_each_alert_and_for_no_other() -> None:
    assert sorted(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == sorted(ALERTS)


def test_the_page_names_those_that_take_a_node_out_of_service() -> None:
    asking = {name for name, alert in ALERTS.items() if alert["labels"].get("gaudi_action")}
    beginning = PAGE.partition("\n## ")[0]
    assert {*re.findall(r"`(Gaudi\w+)`", beginning)} == asking


def test_by_default_it_is_the_page_where_galaxy_finds_the_documents() -> None:
    documents = read_yaml(ROOT / "galaxy.yml")["documentation"]
    assert documents.replace("/tree/", "/blob/") + "/alerts.md" == ALERTS_PAGE
