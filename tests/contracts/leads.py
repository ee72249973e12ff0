# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every place from which a failure reaches a person, and whether it names a command or a page that exists.

``python -m tests.contracts.leads`` counts them. A failure leaves by a few doors, so that nobody writes a page's name
into each message: the door of all modules, that of all actions, that of the command, and the text of a role's task.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS, REACHING, page_about
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.rules import RULES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.items import ITEMS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

from .checkout import CORE, MODULES, PLAYBOOKS, ROLES, ROOT, name_of, read_yaml, task_files, tasks_in

ACTIONS = sorted((ROOT / "plugins" / "action").glob("*.py"))
ALERTS = sorted((ROOT / "roles/gaudi_monitoring/files/rules").glob("*.yml"))
INVENTORIES = sorted((ROOT / "plugins" / "inventory").glob("*.py"))
COMMAND = ROOT / "src/gaudi3_scale/__main__.py"
_SAYING = ("ansible.builtin.assert", "ansible.builtin.fail")
# A file whose failures are rescued, and say only what a module has said -> the task that says it again, and leads on.
CARRIED = {
    f"roles/gaudi_serving/tasks/{name}.yml": "Require that each instance is as it was asked for"
    for name in ("change_instance", "put_back", "drain")
}
Found = dict[str, bool]


def exists(page: str) -> bool:
    """Whether the page is there, and its section where it names one."""
    path, _hash, anchor = page.partition("#")
    if not path or not (ROOT / path).is_file():
        return False
    heads = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return not anchor or anchor in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


def leads_on(text: str) -> bool:
    """Whether it names something to run or to read, and all of it is there."""
    playbooks = {path.stem for path in PLAYBOOKS}
    named = {
        *(name in playbooks for name in re.findall(r"\b(?:ansible-playbook )?gaudi3\.scale\.([a-z_]+)\b", text)),
        *(name in playbooks for name in re.findall(r"\b([a-z_]+)\.yml\b", text)),
        *(exists(page) for page in re.findall(r"\bdocs/\w+\.md(?:#[\w-]+)?", text)),
        *(name in commands() for name in re.findall(r"\bgaudi3_scale ([a-z]+)\b", text)),
    }
    return named == {True}


def tasks() -> Found:
    """Each task of a role or a playbook that says itself why it fails."""
    found = {}
    for path in [*(path for role in ROLES for path in task_files(role)), *PLAYBOOKS]:
        plays = read_yaml(path) or []
        parts = [play.get(part, []) for play in plays for part in ("pre_tasks", "tasks", "post_tasks")]
        for task in tasks_in([task for part in parts for task in part] if path in PLAYBOOKS else plays):
            for said in filter(None, map(task.get, _SAYING)):
                text = str(said.get("fail_msg") or said.get("msg") or "")
                found[f"{name_of(path)}: {task['name']}"] = leads_on(text) or _is_carried(path, text)
    return found


def _is_carried(path: Path, text: str) -> bool:
    """Whether it is a module's word alone, which a later task says again."""
    again = CARRIED.get(name_of(path))
    if again is None or not re.fullmatch(r"\{\{[^{}]*\}\}", text):
        return False
    said = [task for each in task_files(path.parents[1]) for task in tasks_in(read_yaml(each)) if task["name"] == again]
    return len(said) == 1 and leads_on(said[0]["ansible.builtin.assert"]["fail_msg"])


def modules() -> Found:
    """Each module: its code ends by ``run_module``, or it has none and an action of its name does the work."""
    actions = {path.stem for path in ACTIONS}
    return {
        path.stem: exists(page_about("", f"gaudi3.scale.{path.stem}"))
        and ("run_module(" in path.read_text(encoding="utf-8") or path.stem in actions)
        for path in MODULES
    }


def actions() -> Found:
    """Each action: its ``run`` is the one that NodeModule has wrapped."""
    found = {}
    for path in ACTIONS:
        action = import_module(f"ansible_collections.gaudi3.scale.plugins.action.{path.stem}").ActionModule
        found[path.stem] = (
            issubclass(action, NodeModule)
            and hasattr(action.run, "__wrapped__")
            and exists(page_about("", f"gaudi3.scale.{path.stem}"))
        )
    return found


def inventories() -> Found:
    """Each inventory plugin: what it raises ends with its page."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in INVENTORIES}
    return {
        name: exists(page_about("", f"gaudi3.scale.{name}"))
        and text.count("raise Ansible") == text.count(" See {see_also(page_about(")
        for name, text in texts.items()
    }


def roles() -> Found:
    """Each role, for what fails in it and is of no one's: the last lines of a fleet's screen."""
    return {path.name: exists(page_about(f"gaudi3.scale.{path.name}", "ansible.builtin.command")) for path in ROLES}


def _calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))


def commands() -> dict[str, str]:
    """The page of each command that is typed on a node. It is read and not run: what it imports costs seconds."""
    for node in ast.parse(COMMAND.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PAGES":
            pages: dict[str, str] = ast.literal_eval(node.value)
            return pages
    return {}


def subcommands() -> Found:
    """Each command that the parser has."""
    added = [
        first.value
        for call in _calls(COMMAND)
        if getattr(call.func, "attr", "") == "add_parser" and isinstance(first := call.args[0], ast.Constant)
    ]
    return {str(name): exists(commands().get(str(name), "")) for name in added}


def alerts() -> Found:
    """Each alert: its remedy, or the section of the page of alerts."""
    rules = [rule for path in ALERTS for group in read_yaml(path)["groups"] for rule in group["rules"]]
    return {rule["alert"]: _is_told(rule["annotations"]) for rule in rules if "alert" in rule}


def _is_told(annotations: dict[str, str]) -> bool:
    return exists(annotations["runbook_url"].removeprefix(f"{ADDRESS}/blob/main/"))


def checks() -> Found:
    """Each check of a node: it has a remedy or a sentence of its own, or cannot fail; its module leads on."""
    found = {}
    for path in CORE:
        for call in _calls(path):
            if getattr(call.func, "id", "") == "Check":
                given = {**dict(zip(_CHECK, call.args)), **{one.arg: one.value for one in call.keywords}}
                found[f"{name_of(path)}:{path.parent.name}:{call.lineno}"] = _has_remedy(given)
    return found


_CHECK = ("name", "ok", "expected", "found", "remedy", "advice", "message", "unknown")


def _has_remedy(given: dict[str | None, ast.expr]) -> bool:
    def is_literally(name: str, value: object) -> bool:
        one = given.get(name)
        return isinstance(one, ast.Constant) and one.value == value and isinstance(one.value, type(value))

    return not is_literally("remedy", "") or is_literally("ok", True) or "message" in given


def audit() -> Found:
    """Each item of an audit: what its failure says to do."""
    return {item.name: leads_on(item.remedy) for item in ITEMS}


def profile() -> Found:
    """Each verdict on a step."""
    return {cause: leads_on(rule.next) for cause, rule in RULES.items()}


def silent() -> Found:
    """A node that does not answer."""
    return {"a node that does not answer": exists(REACHING)}


KINDS = {
    "tasks of roles and playbooks": tasks,
    "roles": roles,
    "modules": modules,
    "actions": actions,
    "inventories": inventories,
    "commands": subcommands,
    "alerts": alerts,
    "checks of a node": checks,
    "items of an audit": audit,
    "verdicts on a step": profile,
    "nodes": silent,
}


def counted() -> str:
    """How many of each kind lead on, in one line."""
    every = {kind: list(places().values()) for kind, places in KINDS.items()}
    parts = [f"{kind} {sum(found)} of {len(found)}" for kind, found in every.items()]
    whole = [one for found in every.values() for one in found]
    return f"{sum(whole)} of {len(whole)} places lead on: {', '.join(parts)}"


if __name__ == "__main__":
    sys.stdout.write(f"{counted()}\n")
