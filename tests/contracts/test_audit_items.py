# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every line of the checklists and targets that were asked for is an item of the audit, or has its reason; once.

And the page of the audit says of items, figures and reasons what the report says.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._audit import facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import CLUSTER, JOB, NODE, Item
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.items import ITEMS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.not_measured import NOT_MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import GUIDE

from .checkout import ROOT
from .pages import section, tables, text_of

AUDITING = text_of("docs/auditing.md")
# The documents that asked for them, where they stand beside the checkout.
GUIDES = sorted((ROOT.parent / "shared" / "seeds").glob("*.txt"))
HERE = [words for item in ITEMS for words in item.lists] + [words for one in NOT_MEASURED for words in one.lists]
_BOX = re.compile(r"\s*- \[ \] (.+)")
_HEADING = re.compile(r"#+ (.*)")
# Under these headings each row and each line is a target, a checklist's own line, or a sign that something is wrong.
_TARGETS = re.compile(r"Targets?$|Optimization Goals|Common Performance Bottlenecks|Phase 4")
_LINE = re.compile(r"(\| .+ \||- \*\*.+|\d+\. .+)")
_IN_TEXT = re.compile(r"- \*\*Target\*\*: .+")
# Goals that name no figure, and lines that are a heading of a table.
_NO_TARGET = re.compile(r"\| (Metric|Model Class) \||\|[-| ]+\||\d\. \*\*(Minimize|Reduce|Maintain)")


def asked_in(text: str) -> list[str]:
    found, is_targets = [], False
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            is_targets = bool(_TARGETS.search(heading[1]))
        box, row = _BOX.match(line), _LINE.fullmatch(line)
        if box:
            found.append(box[1])
        elif _IN_TEXT.fullmatch(line) or (is_targets and row and not _NO_TARGET.match(line)):
            found.append(line)
    return found


@pytest.mark.skipif(not GUIDES, reason="the documents do not stand beside this checkout")
def test_each_line_that_was_asked_for_is_answered_and_nothing_else() -> None:
    asked = {line for guide in GUIDES for line in asked_in(guide.read_text(encoding="utf-8"))}
    assert len(asked) > 50
    missing = sorted(asked - {*HERE})
    print(f"{len(asked) - len(missing)} of {len(asked)} lines have an item")
    assert missing == []
    assert sorted({*HERE} - asked) == []


def test_no_line_is_answered_twice() -> None:
    assert [line for line, count in Counter(HERE).items() if count > 1] == []


def test_items_are_told_apart_and_each_has_a_command_or_says_what_to_write() -> None:
    assert len({item.name for item in ITEMS}) == len(ITEMS)
    for item in ITEMS:
        assert item.remedy and item.missing and item.asks.endswith(("?", "samples")), item.name
        assert not (item.threshold and item.target), item.name


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_a_playbook_that_it_names_is_there(item: object) -> None:
    named = re.findall(r"gaudi3\.scale\.(\w+)|(\w+)\.yml", str(getattr(item, "remedy", "")))
    for name in ("".join(parts) for parts in named):
        assert name == "report_step" or (ROOT / "playbooks" / f"{name}.yml").exists(), name


def how_many(of: str) -> int:
    return sum(item.of == of for item in ITEMS)


def test_the_audit_s_page_counts_the_items_of_a_job() -> None:
    assert re.findall(r"`(\d+) items of a job", AUDITING) == [str(how_many(JOB))]


def test_the_audit_s_example_of_two_nodes_has_a_verdict_for_each_item() -> None:
    (title,) = re.findall(r"^Audit: (.+)$", AUDITING, re.MULTILINE)
    assert sum(map(int, re.findall(r"\d+", title))) == how_many(JOB) + how_many(CLUSTER) + 2 * how_many(NODE)
    shown = re.findall(r"^([a-z_]+) +(?:audited|node1, node2|cluster) ", AUDITING, re.MULTILINE)
    assert {*shown} <= {item.name for item in ITEMS} and len(shown) > 3


def test_the_audit_s_page_has_every_figure_of_a_guide() -> None:
    (told,) = re.findall(r"Those of guides \(([^)]+)\)", AUDITING)
    figures = sorted(
        f"{one.value * 100:g} %" if one.unit.startswith("of ") else f"{one.value:g} {one.unit}"
        for one in (item.threshold for item in ITEMS)
        if one and one.provenance == GUIDE
    )
    assert sorted(re.findall(r"[\d.]+ (?:%|s\b)", told)) == figures


def test_the_audit_s_page_says_what_to_use_as_the_report_does() -> None:
    (rows,) = [rows for head, rows in tables(AUDITING) if head[0] == "lists ask for"]
    used = {row[-1].replace("`", "") for row in rows}
    assert {one.instead for one in NOT_MEASURED} - used == set()
    named = {name for one in rows for name in re.findall(r"the item `(\w+)`", one[-1])}
    assert named <= {item.name for item in ITEMS} and named


@pytest.mark.parametrize("field", [*facts._OF_START, *facts._OF_STEP])
def test_what_the_audit_reads_of_a_job_is_on_the_page_of_its_lines(field: str) -> None:
    """So what a remedy asks a program to write is found there."""
    assert f"`{field}`" in section("docs/following.md", "## Metric lines")


@pytest.mark.parametrize("item", [item for item in ITEMS if "docs/" in item.remedy], ids=lambda item: item.name)
def test_a_page_to_which_the_audit_points_exists(item: Item) -> None:
    assert all((ROOT / place).is_file() for place in re.findall(r"docs/\w+\.md", item.remedy))
