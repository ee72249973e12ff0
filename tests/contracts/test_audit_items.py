# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every line of the checklists and targets that were asked for is an item of the audit, or has its reason; once.

And the page of the audit says of items, figures and reasons what the report says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._audit import facts
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.usage import read_usage
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import CLUSTER, JOB, NODE, Item
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.items import ITEMS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.not_measured import NOT_MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import GUIDE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.usage_report import usage_charts

from .checkout import ROOT, read_yaml
from .pages import section, tables, text_of

AUDITING = text_of("docs/audit.md")
ASKED = read_yaml(Path(__file__).with_name("checklist_lines.yml"))
LINES: dict[str, str] = ASKED["lines"]
FIGURES: dict[str, dict[str, str]] = ASKED["figures"]
COUNT = 72
HERE = [words for item in ITEMS for words in item.lists] + [words for one in NOT_MEASURED for words in one.lists]
# What a supervisor's line has of the cards, by the field that it becomes, and the chart that shows it.
OF_CARDS = {
    "card_memory_bytes": ("memory_bytes", "Cards of each node: memory"),
    "watts": ("watts", "Cards of each node: power"),
}


def test_each_line_that_was_asked_for_is_answered_and_nothing_else() -> None:
    assert len(LINES) == COUNT
    answers = {words: item.name for item in ITEMS for words in item.lists}
    reasons = {words: "not_measured" for one in NOT_MEASURED for words in one.lists}
    assert {**answers, **reasons} == LINES


def test_each_row_of_three_figures_has_three_fields() -> None:
    assert set(FIGURES) == {line for line in LINES if re.search(r"\bHBM\b|\dW\b", line)}
    for line, fields in FIGURES.items():
        assert [*fields] == ["rate", "memory", "power"]
        assert len(set(fields.values())) == len(line.strip("| ").split(" | ")) - 1


@pytest.mark.parametrize("line", FIGURES)
def test_a_row_s_rate_is_measured_by_the_item_that_answers_it(line: str) -> None:
    rate = FIGURES[line]["rate"]
    (item,) = [item for item in ITEMS if line in item.lists]
    assert item.name == rate == LINES[line]
    measured = item.measure(Facts({}, job={"step": {rate: 1234.0}}))
    assert measured is not None and measured.value == 1234.0
    # Memory and power are no rate.
    assert item.measure(Facts({}, job={"step": dict.fromkeys(OF_CARDS, 1234.0)})) is None


@pytest.mark.parametrize("which", ["memory", "power"])
@pytest.mark.parametrize("line", FIGURES)
def test_a_row_s_memory_and_power_are_each_seen_of_the_cards_and_shown(line: str, which: str, tmp_path: Path) -> None:
    field = FIGURES[line][which]
    (other,) = set(OF_CARDS) - {field}
    said, title = OF_CARDS[field]
    assert title.endswith(f": {which}")
    paths = JobPaths("asked", str(tmp_path / "state"), str(tmp_path / "logs"))
    Path(paths.usage).parent.mkdir(parents=True)
    lines = [json.dumps({"time": time, "cards": {said: [400, 300]}}) for time in (1000, 1060)]
    Path(paths.usage).write_text("\n".join(lines) + "\n", encoding="utf-8")
    samples = read_usage(paths)
    assert [(sample[field] is None, sample[other] is None) for sample in samples] == [(False, True)] * 2
    assert [chart["title"] for chart in usage_charts({"node1": samples}, [])] == [title]


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
    assert re.findall(r"`(\d+) checks of a job", AUDITING) == [str(how_many(JOB))]


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
    assert f"`{field}`" in section("docs/follow.md", "## Metric lines")


@pytest.mark.parametrize("item", [item for item in ITEMS if "docs/" in item.remedy], ids=lambda item: item.name)
def test_a_page_to_which_the_audit_points_exists(item: Item) -> None:
    assert all((ROOT / place).is_file() for place in re.findall(r"docs/\w+\.md", item.remedy))
