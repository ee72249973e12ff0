# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What every playbook promises: extra variables only, the operator's own hosts, nothing asked on the terminal."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from jinja2.nativetypes import NativeEnvironment

from tests.action_roles import ACTION_ROLES

from .checkout import PLAYBOOKS, ROLES, ROOT, name_of, read_yaml, task_files, tasks_in

SITE = ROOT / "playbooks" / "site.yml"
IMPORT = "ansible.builtin.import_playbook"
TASK_LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers")
INTERACTIVE = ("ansible.builtin.pause", "pause")

each_playbook = pytest.mark.parametrize("path", PLAYBOOKS, ids=name_of)


@each_playbook
def test_name_can_follow_the_collections_name(path: Path) -> None:
    """``ansible-playbook gaudi3.scale.NAME`` finds only names that are Python identifiers."""
    assert re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)


@each_playbook
def test_asks_nothing(path: Path) -> None:
    for play in read_yaml(path):
        assert "vars_prompt" not in play
        for tasks in TASK_LISTS:
            for task in tasks_in(play.get(tasks)):
                assert not set(INTERACTIVE) & set(task), task.get("name")


@each_playbook
def test_lets_the_operator_choose_the_hosts(path: Path) -> None:
    for play in read_yaml(path):
        if IMPORT not in play:
            assert "{{" in play["hosts"] or play["hosts"] == "localhost", play["name"]


@each_playbook
def test_a_play_has_roles_or_tasks(path: Path) -> None:
    for play in read_yaml(path):
        assert not ("roles" in play and "tasks" in play), play["name"]


# What is looked at before the first layer and shown after the last, which is no layer's own.
OF_NO_ROLE = {"preflight.yml", "verify.yml"}


def test_a_playbook_says_where_a_role_runs_and_nothing_else() -> None:
    """Options, their defaults and what is done are the role's: there AWX, ansible-doc and a reader look for them."""
    assert {path.name for path in (ROOT / "playbooks").iterdir()} == {path.name for path in PLAYBOOKS} | {"meta"}
    for path in PLAYBOOKS:
        for play in read_yaml(path):
            assert "vars_files" not in play, path.name
            for tasks in TASK_LISTS:
                for task in play.get(tasks, []) if path.name not in OF_NO_ROLE else []:
                    assert set(task) - {"vars"} == {"name", "ansible.builtin.import_role"}, (
                        f"{path.name}: {task['name']}"
                    )


@each_playbook
def test_a_wrong_option_is_refused_by_the_role_s_own_sentence_alone(path: Path) -> None:
    """Ansible's own task before a role answers a wrong value with the whole specification, hundreds of lines a host."""
    for play in read_yaml(path):
        assert "roles" not in play, play["name"]
        for task in tasks_in(play.get("tasks")):
            if "ansible.builtin.import_role" in task:
                assert task["ansible.builtin.import_role"]["rolespec_validate"] is False, task["name"]


def test_site_is_a_table_of_contents() -> None:
    for entry in read_yaml(SITE):
        assert set(entry) - {"vars"} == {"name", IMPORT}


def test_site_never_takes_an_action() -> None:
    """Nouns are states and live in site.yml; a verb_noun playbook starts or stops something."""
    for entry in read_yaml(SITE):
        stem = Path(entry[IMPORT]).stem
        assert stem.split("_")[0] not in ("launch", "stop", "probe", "follow", "run"), stem


def roles_named_in(files: Iterable[Path]) -> set[str]:
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return {role.name for role in ROLES if re.search(rf"gaudi3\.scale\.{role.name}\b", text)}


def test_every_role_is_reached_from_site_or_from_an_action_alone() -> None:
    from_site = roles_named_in(ROOT / "playbooks" / entry[IMPORT] for entry in read_yaml(SITE))
    assert from_site == {role.name for role in ROLES} - ACTION_ROLES
    assert roles_named_in((ROOT / "playbooks").rglob("*.yml")) >= ACTION_ROLES


@pytest.mark.parametrize("entry", read_yaml(SITE), ids=lambda entry: entry[IMPORT])
def test_a_layer_has_the_tag_of_its_file(entry: dict[str, str]) -> None:
    layer = ROOT / "playbooks" / entry[IMPORT]
    plays = [play for play in read_yaml(layer) if IMPORT not in play]
    assert plays
    for play in plays:
        # On its role alone where the play shows something whatever the tags are.
        of_roles = [task.get("tags", []) for task in tasks_in(play["tasks"]) if "ansible.builtin.import_role" in task]
        assert layer.stem in play.get("tags", *of_roles), play["name"]


DEFAULTS = {"gaudi_training_environment_files": []}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["-/etc/gaudi3_scale/environment"]),
        ({"gaudi_training_environment_files": ["/own"]}, ["-/etc/gaudi3_scale/environment", "/own"]),
        ({"gaudi_training_environment_files": ["-/etc/gaudi3_scale/environment"]}, ["-/etc/gaudi3_scale/environment"]),
        ({"gaudi_flags_path": "/srv/flags", "gaudi_training_environment_files": []}, ["-/srv/flags"]),
    ],
)
def test_a_job_s_own_files_come_after_the_node_s_flags(given: dict[str, object], expected: list[str]) -> None:
    """Without the vendor's paths in them no rank reaches a card."""
    options = read_yaml(ROOT / "roles" / "gaudi_training" / "vars" / "main.yml")["__gaudi_training_options"]
    assert NativeEnvironment().from_string(options["environment_files"]).render({**DEFAULTS, **given}) == expected


KEYWORD = re.compile(r"\b(?P<option>gaudi_\w+) \| default\((?P<value>[^()]*)\)")


@each_playbook
def test_a_play_s_keyword_has_the_default_of_the_role_s_option(path: Path) -> None:
    """A play reads its hosts and its batches before any role is there to have defaults."""
    defaults = {
        name: value for role in ROLES for name, value in (read_yaml(role / "defaults" / "main.yml") or {}).items()
    }
    for play in read_yaml(path):
        for keyword in ("hosts", "serial"):
            for found in KEYWORD.finditer(str(play.get(keyword, ""))):
                if found["option"] in defaults:
                    assert ast.literal_eval(found["value"]) == defaults[found["option"]], found["option"]


REPORT = "gaudi3.scale.report"


def all_tasks(path: Path) -> Iterable[dict[str, Any]]:
    """The tasks of a playbook or of a role's file of tasks."""
    content = read_yaml(path)
    if path not in PLAYBOOKS:
        return list(tasks_in(content))
    return [task for play in content for tasks in TASK_LISTS for task in tasks_in(play.get(tasks))]


def kept_reports() -> list[tuple[str, dict[str, Any]]]:
    """Every report that is kept, with the file that makes it."""
    found = [
        (name_of(path), task[REPORT])
        for path in (*PLAYBOOKS, *(file for role in ROLES for file in task_files(role)))
        for task in all_tasks(path)
        if REPORT in task
    ]
    return [(name, report) for name, report in found if "name" in report]


@pytest.mark.parametrize("path", PLAYBOOKS, ids=name_of)
def test_only_the_module_knows_where_reports_go_without_a_word(path: Path) -> None:
    values = json.dumps(read_yaml(path))
    assert "gaudi3_scale_reports" not in values
    assert "'PWD'" not in values


@pytest.mark.parametrize(("name", "report"), kept_reports(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_report_goes_to_the_target_and_has_an_outcome_that_the_docs_tell_of(
    name: str, report: dict[str, Any]
) -> None:
    # Without it the module finds the site's by itself.
    assert "target" not in report
    reported = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    variable = report["outcome"]["variable"]
    if "{{" in variable:
        assert variable == "{{ __gaudi_training_outcome }}"
        assert "`gaudi_outcome_launch_training`, `gaudi_outcome_show_training`" in reported
    else:
        assert f"| `{variable}` |" in reported
    for word in ("numbers", "words"):
        for key in report["outcome"].get(word, {}):
            assert f"`{key}`" in reported, key


def described_jobs(content: Any) -> Iterable[dict[str, Any]]:
    """Every description of a job in a file: options of a task, its defaults, or the value of a variable."""
    if isinstance(content, dict) and {"command", "processes_per_node"} <= content.keys():
        yield content
    for value in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from described_jobs(value)


@pytest.mark.parametrize(
    "path", sorted({*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/[tv]a*/*.yml")}), ids=name_of
)
def test_whoever_describes_a_job_decides_on_its_binding(path: Path) -> None:
    """A process that starts others, or ranks that only add up, would be confined or refused by the default."""
    assert [job["command"] for job in described_jobs(read_yaml(path)) if "bind" not in job] == []


# With the files of tasks by which they do; what only looks, and what starts jobs, is given no proxy.
FETCHING = {
    "gaudi_host": {"main"},
    "gaudi_driver": {"main"},
    "gaudi_containers": {"main"},
    "gaudi_serving": {"main", "proxy", "roll", "serve"},
    "gaudi_fabric": {"main"},
    "gaudi_storage": {"main", "measure"},
    "gaudi_venv": {"main"},
    "gaudi_exporter": {"main"},
    "gaudi_monitoring": {"main", "identity"},
    "gaudi_bundle": {"main"},
    "gaudi_image": {"main"},
    "gaudi_upgrade": {"main"},
}


def roles_of(play: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Role and file of tasks."""
    for task in tasks_in(play.get("tasks")):
        told = task.get("ansible.builtin.import_role")
        if told:
            yield told["name"].rpartition(".")[2], told.get("tasks_from", "main")


@each_playbook
def test_what_fetches_does_so_by_the_site_s_proxy_and_nothing_else_has_it(path: Path) -> None:
    for play in read_yaml(path):
        fetches = any(entry in FETCHING.get(role, ()) for role, entry in roles_of(play))
        assert play.get("environment") == ("{{ gaudi_proxy | default({}) }}" if fetches else None), play["name"]


def test_the_account_of_each_example_is_that_of_all_its_machines() -> None:
    """A machine that watches the nodes is in no group of theirs; root's rights are for nodes, not the controller."""
    for values in (ROOT / "inventories").glob("*/group_vars"):
        if values.parent.name != "sandbox":  # A program that tells each node's own.
            both = read_yaml(values / "all.yml"), read_yaml(values / "gaudi.yml")
            assert [("ansible_user" in one, "ansible_become" in one) for one in both] == [(True, False), (False, True)]
