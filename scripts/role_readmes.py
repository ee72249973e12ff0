# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.role_readmes``: writes every role's README.md from what the role itself says.

The text is that of ``meta/argument_specs.yml`` and ``meta/main.yml``, the defaults are those of ``defaults/main.yml``,
and what a role registers is described by the module that returns it. Galaxy refuses a collection with a role that has
no README.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import specified

from .ansible_markup import code, markdown

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = "gaudi3.scale"
# `{{ gaudi_release | default('1.24.1') }}`: a variable of the whole inventory, or a value.
_SHARED = re.compile(r"^\{\{ (\w+)(?: \| default\(('[^']*'|[^()'|]+)\))? \}\}$")
# Of a module that does several things, the options by which a task asks for one, and how RETURN names it.
_JOB = ("step", "of")
_CONDITION = re.compile(rf"O\(({'|'.join(_JOB)})=(\w+)\)")
# Longer than this, or more than one level deep, a default is shown below its table.
_CELL = 60


def main() -> int:
    for role in roles():
        target, text = role / "README.md", render(role)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{target.relative_to(ROOT)} written\n")
    return 0


def roles() -> list[Path]:
    return sorted(path for path in (ROOT / "roles").iterdir() if (path / "meta" / "argument_specs.yml").is_file())


def render(role: Path) -> str:
    """The README of the role in the directory ``role``."""
    entries = _read(role / "meta" / "argument_specs.yml")["argument_specs"]
    entry = entries["main"]
    about = _read(role / "meta" / "main.yml")["galaxy_info"]
    sections = [
        "<!-- `make readmes` writes this file from meta/, defaults/ and tasks/ of the role. Change those. -->",
        f"# {COLLECTION}.{role.name}",
        f"{about['description']}.",
        *[markdown(paragraph) for paragraph in _paragraphs(entry)],
        "## Requirements",
        *_requirements(role, about, entry),
        "## Example",
        f"```yaml\n{entry['examples'].strip()}\n```",
        *_entry_points(entries),
        "## Variables",
        *_variables(options_of(entries), role / "defaults" / "main.yml"),
        *_shared(role),
        *_results(role),
        "## License",
        f"{about['license']}. The modules that the role calls are GPL-3.0-or-later, as Ansible requires.",
    ]
    return "\n\n".join(sections) + "\n"


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _paragraphs(documented: Mapping[str, Any]) -> list[str]:
    text = documented["description"]
    return text if isinstance(text, list) else [text]


def _requirements(role: Path, about: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    platforms = [f"{platform['name']} ({', '.join(platform['versions'])})" for platform in about["platforms"]]
    lines = [
        f"- on the controller: Ansible {about['min_ansible_version']} or newer",
        f"- on the nodes: {', '.join(platforms)}, with Python 3.9 or newer and nothing from pip",
        "- root on the nodes (`become: true`)",
    ]
    if not _is_for_nodes(entry):
        del lines[1:]
    used = [
        f"`{COLLECTION}.{path.stem}`" for path in sorted((ROOT / "playbooks").glob("*.yml")) if _applies(path, role)
    ]
    return ["\n".join(lines), *([f"The playbook {' or '.join(used)} applies it."] if used else [])]


def _is_for_nodes(entry: Mapping[str, Any]) -> bool:
    """Whether it does anything beside the controller, where its example would run it."""
    return bool(yaml.safe_load(entry["examples"])[0]["hosts"] != "localhost")


def _applies(playbook: Path, role: Path) -> bool:
    plays = _read(playbook)
    imported = [
        task.get(f"ansible.builtin.{kind}_role", {}).get("name")
        for play in plays
        for task in _tasks(play.get("tasks"))
        for kind in ("import", "include")
    ]
    return f"{COLLECTION}.{role.name}" in imported


def options_of(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The options of all entry points, each once; of one that several have, the text of the first counts."""
    options: dict[str, Any] = {}
    for entry in entries.values():
        options = {**options, **(entry.get("options") or {}), **options}
    return options


def _entry_points(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What else the role can do: each entry point beside ``main``, with the options that it reads."""
    lines = (
        ["## Further entry points", "With `ansible.builtin.import_role` and `tasks_from`."] if len(entries) > 1 else []
    )
    for name, entry in entries.items():
        if name != "main":
            reads = ", ".join(code(option) for option in entry.get("options") or {})
            lines.append(f"### {name}")
            lines += [markdown(paragraph) for paragraph in _paragraphs(entry)]
            lines += [f"Reads {reads}."] if reads else []
    return lines


def _variables(options: Mapping[str, Any], file: Path) -> list[str]:
    """The table of all variables, and the defaults that are too long for it as they stand in ``file``."""
    defaults, rows, below = _read(file) or {}, [], []
    for name, option in options.items():
        cell = _default(option, name, defaults)
        below += [] if cell else [name]
        rows.append([code(name), _type(option), cell or "below", _description(option)])
        for path, nested in _nested(name, option):
            rows.append([code(path), _type(nested), _nested_default(nested), _description(nested)])
    short = table(("Variable", "Type", "Default", "Description"), rows)
    source = file.read_text(encoding="utf-8")
    longer = "".join(re.findall(rf"^{name}:.*\n(?:[ -].*\n)*", source, re.MULTILINE)[0] for name in below)
    return [short, *(["Defaults that are longer:", f"```yaml\n{longer}```"] if below else [])]


def _shared(role: Path) -> list[str]:
    """The options of the whole collection, or of other roles, that the role reads under names of its own."""
    path = role / "vars" / "main.yml"
    given = (_read(path) or {}) if path.is_file() else {}
    named = specified(role.name, role.name, {}, given).shared.values()
    shown = ", ".join(code(name) for name in sorted({*named}))
    catalog = "[the catalog](../../docs/catalog.md#variables-of-the-inventory)"
    told = f"From the inventory it also reads {shown}. Those of no role are in {catalog}; the others are their roles'."
    return [told] if shown else []


def _nested(name: str, option: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every option below ``option``, with its path."""
    prefix = f"{name}[]." if option.get("type") == "list" else f"{name}."
    for key, nested in (option.get("options") or {}).items():
        yield prefix + key, nested
        yield from _nested(prefix + key, nested)


def _type(documented: Mapping[str, Any]) -> str:
    kind = documented.get("type", "str")
    return f"{kind} of {documented['elements']}" if documented.get("elements") else kind


def _description(option: Mapping[str, Any]) -> str:
    sentences = [markdown(paragraph) for paragraph in _paragraphs(option)]
    if option.get("choices"):
        sentences.append(f"One of {', '.join(_value(choice) for choice in option['choices'])}.")
    return " ".join(sentences)


def _default(option: Mapping[str, Any], name: str, defaults: Mapping[str, Any]) -> str | None:
    """The text of the cell; None where the default is too long for it."""
    if option.get("required"):
        return "**required**"
    value = defaults[name]
    if value is None:
        return "not set"
    shared = _SHARED.match(value) if isinstance(value, str) else None
    if shared:
        return code(shared[1]) + (f", else {_value(yaml.safe_load(shared[2]))}" if shared[2] else "")
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "<br>".join(_value(item) for item in value)
    if (isinstance(value, (list, dict)) and value) or len(str(value)) > _CELL:
        return None
    return _value(value)


def _nested_default(option: Mapping[str, Any]) -> str:
    if option.get("required"):
        return "**required**"
    return _value(option["default"]) if "default" in option else "not set"


def _value(value: object) -> str:
    return code(value if isinstance(value, str) and value else json.dumps(value))


def _results(role: Path) -> list[str]:
    """What the role registers under its own name, described by the module that returns it."""
    registered = sorted(set(_registered(role)), key=lambda found: (len(found[0]), found))
    lines = ["## Results"] if registered else []
    for name, module, job in registered:
        fields = document(module, "RETURN").items()
        told = [(field, documented, _returned(documented, dict(job))) for field, documented in fields]
        rows = [
            [code(field), _type(documented), returned, _description(documented)]
            for field, documented, returned in told
            if returned
        ]
        module = f"{COLLECTION}.{module}"
        lines += [
            f"`{name}` is what `{module}` returned. `ansible-doc {module}` also shows what is within its fields.",
            table(("Field", "Type", "Returned", "Description"), rows),
        ]
    return lines


def _returned(documented: Mapping[str, Any], job: Mapping[str, str]) -> str:
    """When the field is there after a task that asked for this ``job``; empty where it never is."""
    told = str(documented.get("returned", ""))
    conditions = _CONDITION.findall(told)
    if any((name, job.get(name)) not in conditions for name, _value in conditions):
        return ""
    return "success" if conditions else markdown(told)


def _registered(role: Path) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """What is registered, by which module, and what of the module's jobs the task asked for."""
    for path in sorted((role / "tasks").rglob("*.yml")):
        for task in _tasks(_read(path)):
            name = task.get("register", "")
            for module in (key.removeprefix(f"{COLLECTION}.") for key in task if key.startswith(f"{COLLECTION}.")):
                if name.startswith(f"{role.name}_"):
                    yield name, module, _job(module, task[f"{COLLECTION}.{module}"] or {})


def _tasks(tasks: Sequence[Mapping[str, Any]] | None) -> Iterator[Mapping[str, Any]]:
    for task in tasks or []:
        yield task
        for part in ("block", "rescue", "always"):
            yield from _tasks(task.get(part))


def _job(module: str, given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    options = document(module, "DOCUMENTATION").get("options", {})
    return tuple((name, given.get(name, options[name].get("default"))) for name in _JOB if name in options)


def document(module: str, which: str) -> dict[str, Any]:
    """The module's RETURN or DOCUMENTATION."""
    source = (ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == which:
            return yaml.safe_load(ast.literal_eval(node.value)) or {}
    return {}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
