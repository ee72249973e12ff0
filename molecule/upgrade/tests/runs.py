# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a playbook of the collection: how it ended, and what it says of each node."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.sandbox_nodes import run

REPORT = "gaudi3.scale.report"
RULE = re.compile(r"-+(  -+)*")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
ENDINGS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable")


@dataclass(frozen=True)
class Played:
    """One run. ``states`` are those of the table at its end, ``said`` is what each host's first failure said.

    ``results`` are the results of all tasks: (host, action, result).
    """

    rc: int
    states: dict[str, str]
    said: dict[str, str]
    changed: dict[str, int]
    results: list[tuple[str, str, dict[str, Any]]]
    screen: str

    def of_driver(self, node: str) -> dict[str, Any]:
        """The last result of ``hpu_driver`` on this node."""
        found = [result for host, action, result in self.results if host == node and action.endswith("hpu_driver")]
        assert found, f"hpu_driver did not run on {node}:\n{self.screen}"
        return found[-1]


def play(playbook: str, directory: Path, arguments: str = "", **variables: object) -> Played:
    """Run ``gaudi3.scale.PLAYBOOK`` on the scenario's nodes, as AWX does."""
    directory.mkdir(exist_ok=True)
    reports = {"gaudi_report_target": str(directory / "reports")}
    result = run(directory, playbook, arguments=arguments, **{**reports, **variables})
    results, said, table = [], {}, ""
    for event in result.events:
        if event["event"] not in ENDINGS:
            continue
        data = event["event_data"]
        results.append((data["host"], data["task_action"], data["res"]))
        if event["event"] != "runner_on_ok":
            said.setdefault(data["host"], str(data["res"].get("msg", "")))
        if data["task_action"] == REPORT and event["event"] == "runner_on_ok":
            table = data["res"]["text"]
    changed = dict((result.stats or {}).get("changed", {}))
    return Played(
        result.rc, column(table, "state"), said, changed, results, COLOR.sub("", result.stdout.read())[-40000:]
    )


def column(text: str, name: str) -> dict[str, str]:
    """The first column of a printed table -> the column ``name``; empty where the text has no such table."""
    lines = text.splitlines()
    rule = next((number for number, line in enumerate(lines) if RULE.fullmatch(line)), 0)
    places = [slice(*dashes.span()) for dashes in re.finditer("-+", lines[rule])] if rule else []
    names = [lines[rule - 1][place].strip() for place in places]
    if name not in names:
        return {}
    chosen = places[names.index(name)]
    rows = itertools.takewhile(lambda line: line and not line.startswith(" "), lines[rule + 1 :])
    return {row[places[0]].strip(): row[chosen].strip() for row in rows}


def upgrade(release: str, directory: Path, arguments: str = "", **variables: object) -> Played:
    """``upgrade_driver`` to ``release``: the driver alone, all nodes of a batch at once."""
    chosen: Mapping[str, object] = {
        "gaudi_upgrade_release": release,
        "gaudi_upgrade_layers": [],
        **variables,
    }
    return play("upgrade_driver", directory, arguments, **chosen)
