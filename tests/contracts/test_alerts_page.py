# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each alert tells what happened, what to run and where more is written, and that is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.options import ALERTS_PAGE

from .checkout import ROOT, read_yaml
from .pages import IN_WORDS, each_page, text_of

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


@cache
def classes() -> set[str]:
    """What else is called so: classes of the node library, the one exception, and two of optimum-habana."""
    library = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    known = {"GaudiError", "GaudiTrainer", "GaudiTrainingArguments"}
    return {*known, *re.findall(r"^class (Gaudi\w+)", library, re.MULTILINE)}


@each_page
def test_an_alert_that_a_page_names_exists(page: Path) -> None:
    assert set(re.findall(r"`(Gaudi[A-Z]\w+)`", page.read_text(encoding="utf-8"))) <= classes() | ALERTS.keys()


def test_the_alerts_that_the_vendor_s_exporter_silences_are_told() -> None:
    (row,) = re.findall(r"^\| taking nodes out of service \|(.*)$", text_of("docs/monitoring.md"), re.MULTILINE)
    asking = {name for name, alert in ALERTS.items() if alert["labels"].get("gaudi_action")}
    assert set(re.findall(r"`(Gaudi\w+)`", row)) == asking
    (number,) = re.findall(r"the (\w+) alerts that ask for it", row)
    assert IN_WORDS[number] == len(asking)
