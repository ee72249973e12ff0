# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.patterns``: writes extensions/patterns/ from playbooks/meta/ and the roles' specifications.

A pattern is what Automation Controller imports from an installed collection: templates with surveys that belong
together. ``configure_controller.yml`` makes all of them, with workflows; see docs/controller.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook, read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import survey

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = "gaudi3.scale"


@dataclass(frozen=True)
class Pattern:
    """``playbooks`` in the order in which they are used; the first one stands for the pattern."""

    name: str
    title: str
    description: str
    playbooks: tuple[str, ...]


PATTERNS = (
    Pattern(
        "first_day",
        "Gaudi servers from bare to measured",
        "Takes racked Gaudi 2 and Gaudi 3 servers through all layers, and measures each card, node, pair and ring.",
        ("site", "preflight", "verify", "qualify_nodes"),
    ),
    Pattern(
        "upgrade_driver",
        "Another driver on all Gaudi servers",
        "Plans another release, upgrades one canary and then the others in batches, and rolls back a node that fails.",
        ("upgrade_driver", "plan_upgrade", "explain_node"),
    ),
    Pattern(
        "train",
        "A training over all Gaudi servers",
        "Finds the largest batch, launches one training over all nodes, shows it and stops it.",
        ("launch_training", "probe_batch_size", "show_training", "stop_training"),
    ),
)


def main() -> int:
    for path, text in files():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path} written\n")
    return 0


def files() -> Iterator[tuple[str, str]]:
    """Each file, by its path below the collection, and its text."""
    known = {one.name: one for one in read_playbooks(ROOT)}
    for pattern in PATTERNS:
        folder = f"extensions/patterns/{pattern.name}"
        yield f"{folder}/meta/pattern.json", json.dumps(_meta(pattern, known), indent=2) + "\n"
        yield f"{folder}/README.md", _readme(pattern, known)
        for name in pattern.playbooks:
            yield f"{folder}/playbooks/{name}.yml", _playbook(known[name])


def _meta(pattern: Pattern, known: dict[str, Playbook]) -> dict[str, Any]:
    return {
        "schema_version": "1.0",
        "name": pattern.name,
        "title": pattern.title,
        "description": pattern.description,
        "short_description": pattern.title,
        "tags": ["gaudi", "hpu", "training"],
        "aap_resources": {
            "controller_project": {"name": COLLECTION, "description": "The collection itself."},
            "controller_labels": [COLLECTION],
            "controller_job_templates": [
                _template(pattern, one, primary=one is known[pattern.playbooks[0]])
                for name in pattern.playbooks
                for one in known[name].templates
            ],
        },
    }


def _template(pattern: Pattern, playbook: Playbook, primary: bool) -> dict[str, Any]:
    template: dict[str, Any] = {
        "name": f"Gaudi: {playbook.title}",
        "description": playbook.purpose,
        "playbook": f"extensions/patterns/{pattern.name}/playbooks/{playbook.name}.yml",
        "primary": primary,
    }
    variables = {"extra_vars": json.dumps(playbook.sets)} if playbook.sets else {}
    asked = survey(playbook, {})
    return {**template, **variables, **({"survey": asked} if asked else {})}


def _readme(pattern: Pattern, known: dict[str, Playbook]) -> str:
    rows = [f"| {one.title} | {one.purpose} |" for name in pattern.playbooks for one in known[name].templates]
    table = "\n".join(["| Template | What it does |", "|---|---|", *rows])
    return f"""<!-- `make readmes` writes this file from scripts/patterns.py and playbooks/meta. Change those. -->

# {pattern.title}

{pattern.description}

{table}

Each template needs an inventory with a group `gaudi` and a credential for its nodes. What is the site's own, as the
release, stays in the inventory; a survey asks for what differs from run to run. All templates, with workflows and
schedules, are made by `{COLLECTION}.configure_controller`.
"""


def _playbook(playbook: Playbook) -> str:
    return f"""---
- name: {playbook.title}
  ansible.builtin.import_playbook: {COLLECTION}.{playbook.name}
"""


if __name__ == "__main__":
    sys.exit(main())
