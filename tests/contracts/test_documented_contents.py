# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What pages say there is, and how many of it: playbooks, roles, layers, modules, files, gates."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import roles_of

from scripts import catalog
from scripts.dashboards.panels import DASHBOARDS
from tests.gates.table import GATES

from .checkout import MODULES, PLAYBOOKS, ROLES, ROOT, read_yaml, tasks_in
from .pages import IN_WORDS, each_page, section, tables, text_of

README = text_of("README.md")
REPOSITORY = read_yaml(ROOT / "galaxy.yml")["repository"]
PUBLIC = read_yaml(ROOT / "meta" / "runtime.yml")["action_groups"]["all"]
IMPORT = "ansible.builtin.import_playbook"
LAYERS = [entry[IMPORT] for entry in read_yaml(ROOT / "playbooks" / "site.yml")]
LAUNCH = read_yaml(ROOT / "roles" / "gaudi_training" / "meta" / "argument_specs.yml")["argument_specs"]["main"][
    "options"
]


def test_the_catalog_is_what_the_checkout_has() -> None:
    assert text_of("docs/catalog.md") == catalog.render(ROOT), "docs/catalog.md is out of date; run: make readmes"


def test_the_catalog_names_each_playbook_role_and_public_module_once() -> None:
    text = text_of("docs/catalog.md")
    names = {path.stem for path in PLAYBOOKS} - {"site"} | set(PUBLIC)
    assert {name for name in names if text.count(f"| `{name}` |") != 1} == set()
    assert {role.name for role in ROLES if text.count(f"| [{role.name}]") != 1} == set()
    assert re.findall(r"^\| `(\w+)` \|", text.partition("## Layers")[2], re.MULTILINE)[: len(LAYERS)] == [
        name.removesuffix(".yml") for name in LAYERS
    ]


def test_the_readme_can_be_read_in_a_few_minutes() -> None:
    assert len(README.split()) <= 900


def test_the_readme_s_links_lead_somewhere_from_galaxy_and_the_hub_too() -> None:
    """Whole addresses, since those show the file alone; what they name is in this checkout."""
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert [link for link in links if not link.startswith("https://")] == []
    here = [
        link
        for link in links
        if link.startswith(tuple(f"{REPOSITORY}/{kind}/main/" for kind in ("blob", "raw", "tree")))
    ]
    assert len(here) > 20
    assert [link for link in here if not (ROOT / link.split("/main/")[1]).exists()] == []


def test_each_layer_has_its_row_of_what_it_costs() -> None:
    (rows,) = [rows for head, rows in tables(text_of("docs/performance.md")) if head[0] == "Layer"]
    named = [row[0].partition(",")[0] for row in rows]
    for entry in read_yaml(ROOT / "playbooks" / "site.yml"):
        plays = [play["name"] for play in read_yaml(ROOT / "playbooks" / entry[IMPORT]) if IMPORT not in play]
        assert {*plays, entry["name"]} & {*named}, entry[IMPORT]
    assert len(named) == len(LAYERS) + 1


def test_the_sum_of_what_layers_cost_is_that_of_their_rows() -> None:
    (rows,) = [rows for head, rows in tables(text_of("docs/performance.md")) if head[0] == "Layer"]
    *layers, (_all, *sums) = rows
    for column, whole in enumerate(sums, start=1):
        assert float(whole) == pytest.approx(sum(float(row[column] or 0) for row in layers), abs=0.5)


def test_the_most_that_a_second_run_may_cost_is_what_the_test_allows() -> None:
    (most,) = re.findall(r"^MOST_REMOTE_TASKS = (\d+)$", text_of("molecule/site/tests/test_site.py"), re.MULTILINE)
    assert f"at most {most} for a run that finds everything done" in text_of("docs/performance.md")


def looks_at_the_place(role: str, file: str) -> bool:
    """Whether this file of the role's tasks, or one that it brings in, refuses a place that takes no report."""
    path = ROOT / "roles" / role / "tasks" / file
    tasks = list(tasks_in(read_yaml(path)))
    further = [
        task[key]
        for task in tasks
        for key in ("ansible.builtin.import_tasks", "ansible.builtin.include_tasks")
        if key in task
    ]
    return any("report_target" in task.get("gaudi3.scale.options_check", {}) for task in tasks) or any(
        looks_at_the_place(role, name) for name in further if (path.parent / name).is_file()
    )


def test_whoever_refuses_a_place_of_reports_at_once_is_named() -> None:
    """And nobody else: elsewhere a place that takes nothing is a warning at the end."""
    said = section("docs/report.md", "## Troubleshooting").partition(" Nothing is made")[0]
    asks = {"site.yml", "preflight.yml"} | {
        path.name for path in PLAYBOOKS for role, entry in roles_of(path) if looks_at_the_place(role, f"{entry}.yml")
    }
    assert set(re.findall(r"`(\w+\.yml)`", said)) == asks


@each_page
def test_a_module_a_role_or_a_file_of_ours_that_a_page_names_exists(page: Path) -> None:
    # What went is named in one table, which has a test of its own.
    text = page.read_text(encoding="utf-8").partition("## Names that changed")[0]
    modules = {
        name
        for names in re.findall(r"\bmodules? (`\w+`(?:(?:, | and )`\w+`)*)", text)
        for name in names.split("`")[1::2]
    }
    assert modules <= {path.stem for path in MODULES}
    assert set(re.findall(r"\broles? `(\w+)`", text)) <= {role.name for role in ROLES}
    # Not where another project's own folders are told of.
    folders = "plugins|roles|tests|src|inventories|extensions|molecule|benchmarks|sandbox"
    for place in re.findall(rf"`((?:{folders})/[\w./*]+)`", text):
        assert list(ROOT.glob(place.rstrip("/"))), place


@each_page
def test_a_gate_that_a_page_plays_exists(page: Path) -> None:
    known = {gate.name for gate in GATES} | {"molecule"}
    text = page.read_text(encoding="utf-8")
    for words in re.findall(r"-m tests\.gates((?: --?[\w-]+| [a-z][\w-]*)*)", text):
        assert {word for word in words.split() if not word.startswith("-")} <= known
    assert set(re.findall(r"\bgate `([\w-]+)`", text)) <= known


def test_the_page_counts_the_schedules_that_its_gate_plays() -> None:
    (gate,) = [gate for gate in GATES if gate.name == "schedules"]
    (number,) = re.findall(r"(\d+) random schedules in the gate `schedules`", text_of("docs/surviving.md"))
    assert gate.checks.startswith(f"{number} random schedules")


def workflows() -> int:
    """How many the controller gets."""
    (found,) = [
        node
        for node in ast.walk(ast.parse(text_of("plugins/plugin_utils/_controller/workflows.py")))
        if isinstance(node, ast.FunctionDef) and node.name == "workflows"
    ]
    calls = [
        node for node in ast.walk(found) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_workflow"
    ]
    return len(calls)


@pytest.mark.parametrize(
    ("page", "words", "there"),
    [
        ("docs/monitoring.md", r"^(\w+) for Grafana 10 or newer", len(DASHBOARDS)),
        ("docs/controller.md", r"(\w+) workflows and a schedule", workflows()),
        ("docs/controller.md", r"(\w+) sets of templates", len([*(ROOT / "extensions" / "patterns").iterdir()])),
        ("docs/engines.md", r"^# One job, (\w+) engines$", len(LAUNCH["gaudi_training_engine"]["choices"])),
    ],
)
def test_a_number_in_words_is_how_many_there_are(page: str, words: str, there: int) -> None:
    (number,) = re.findall(words, text_of(page), re.MULTILINE)
    assert IN_WORDS[number.lower()] == there
