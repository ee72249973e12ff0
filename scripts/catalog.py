# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.catalog``: writes docs/catalog.md, every playbook, role and public module in one line each.

What each line says is taken from playbooks/meta/, the roles' specifications and the modules' documentation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook, read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

from .ansible_markup import markdown
from .role_readmes import document, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "catalog.md"
HEAD = """<!-- `make readmes` writes this file from playbooks/meta/, roles/*/meta/, plugins/modules/. Change those. -->

# Catalog

Every playbook, role and module in one line.

```console
ansible-playbook -i my_cluster gaudi3.scale.NAME        # a playbook
ansible-doc -t role gaudi3.scale.ROLE                   # a role's options, defaults and example
ansible-doc gaudi3.scale.MODULE                         # a module's options and what it returns
```

An option that does not exist is refused, with the nearest name that does."""
# Of a playbook that changes one thing; the other kinds are words for themselves.
CHANGES = {"job": "a job", "host": "one host"}
# The one playbook that is no job template, so that playbooks/meta/ does not have it: it makes them.
CONTROLLER = (
    "a controller",
    "Create a job template, with a survey, for every other playbook, workflows and schedules.",
)


def main() -> int:
    text = render(ROOT)
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{PAGE.relative_to(ROOT)} written\n")
    return 0


def render(root: Path) -> str:
    """The page of the checkout ``root``."""
    known = {one.name: one for one in read_playbooks(root)}
    layers = [Path(name).stem for name in _layers(root)]
    others = sorted({path.stem for path in (root / "playbooks").glob("*.yml")} - {"site", *layers})
    parts = [
        HEAD,
        "## Variables of the inventory",
        "Several roles read these. Set them for all hosts, a group or one host; other options begin with their role.",
        table(("Variable", "Type", "Default", "Purpose"), _variables()),
        "## Layers",
        "`gaudi3.scale.site` runs these in this order; each can be run alone.",
        table(("Playbook", "Purpose"), ((f"`{name}`", known[name].purpose) for name in layers)),
        "## Actions",
        table(
            ("Playbook", "Changes", "Purpose"),
            ((f"`{name}`", *(_about(known[name]) if name in known else CONTROLLER)) for name in others),
        ),
        "## Roles",
        "A role with several entry points is used by `ansible.builtin.include_role` with `tasks_from`.",
        table(("Role", "Entry point", "Purpose"), _roles(root)),
        "## Modules",
        "Other modules are internal to the roles and may change in any release.",
        table(("Module", "Purpose"), _modules(root)),
    ]
    return "\n\n".join(parts) + "\n"


def _about(playbook: Playbook) -> tuple[str, str]:
    return CHANGES.get(playbook.changes, playbook.changes), playbook.purpose


def _layers(root: Path) -> list[str]:
    entries = yaml.safe_load((root / "playbooks" / "site.yml").read_text(encoding="utf-8"))
    return [entry["ansible.builtin.import_playbook"] for entry in entries]


def _variables() -> Iterator[tuple[str, ...]]:
    for name, option in SHARED.items():
        default = json.dumps(option["default"]) if "default" in option else ""
        yield f"`{name}`", option["type"], f"`{default}`" if default else "", option["description"]


def _roles(root: Path) -> Iterator[tuple[str, ...]]:
    """The role's name once, and a row for each entry point."""
    for path in sorted((root / "roles").glob("*/meta/argument_specs.yml")):
        role = path.parents[1].name
        entries: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
        for name, entry in entries.items():
            shown = f"[{role}](../roles/{role}/README.md)" if name == "main" else ""
            yield shown, name if len(entries) > 1 else "", markdown(entry["short_description"])


def _modules(root: Path) -> Iterator[tuple[str, ...]]:
    runtime = yaml.safe_load((root / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    for name in runtime["action_groups"]["all"]:
        yield f"`{name}`", markdown(document(name, "DOCUMENTATION")["short_description"])


if __name__ == "__main__":
    sys.exit(main())
