# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a playbook run did, counted from ansible-runner's events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# Actions that never reach the node: the controller answers them alone. (fabric_benchmark: where it need not measure.)
CONTROLLER_ACTIONS = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "ansible.builtin.")
    for name in (
        "add_host",
        "assert",
        "debug",
        "fail",
        "group_by",
        "import_role",
        "import_tasks",
        "include_role",
        "include_tasks",
        "include_vars",
        "meta",
        "pause",
        "set_fact",
        "set_stats",
        "validate_argument_spec",
    )
) | {
    f"gaudi3.scale.{name}"
    for name in (
        "comparison_together",
        "fabric_benchmark",
        "options_check",
        "report",
        "role_options",
        "rollout",
        "tune_study",
    )
}

_FINISHED = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable")
_ITEM_FINISHED = ("runner_item_on_ok", "runner_item_on_failed")


@dataclass
class PlayCount:
    """One play: its tasks, module runs on its busiest host, results that changed something, and its seconds."""

    name: str
    tasks: int = 0
    remote_per_host: int = 0
    changed: int = 0
    seconds: float = 0.0


def task_seconds(events: Iterable[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """Each task with its seconds, in order: until the next one starts, or the run ends."""
    starts = [
        (event.get("event_data", {}).get("task", ""), datetime.fromisoformat(event["created"]), event["event"])
        for event in events
        if event["event"] in ("playbook_on_task_start", "playbook_on_stats")
    ]
    return [
        (name, (after - began).total_seconds())
        for (name, began, kind), (_name, after, _kind) in zip(starts, starts[1:])
        if kind == "playbook_on_task_start"
    ]


def count_plays(events: Iterable[Mapping[str, Any]]) -> list[PlayCount]:
    """One :class:`PlayCount` a play, in order. ``events`` are ansible-runner's, in order."""
    plays: dict[str, PlayCount] = {}
    remote: dict[str, dict[str, int]] = {}
    looped: set[tuple[str, str]] = set()
    started: dict[str, datetime] = {}
    for event in events:
        data = event.get("event_data", {})
        key = data.get("play_uuid")
        if key is None:
            continue
        play = plays.setdefault(key, PlayCount(data.get("play", "")))
        when = datetime.fromisoformat(event["created"])
        play.seconds = (when - started.setdefault(key, when)).total_seconds()
        kind = event["event"]
        if kind == "playbook_on_task_start":
            play.tasks += 1
        if kind not in _FINISHED + _ITEM_FINISHED:
            continue
        play.changed += kind == "runner_on_ok" and bool(data.get("res", {}).get("changed"))
        host, task = data["host"], data["task_uuid"]
        if kind in _ITEM_FINISHED:
            looped.add((task, host))
        elif (task, host) in looped:
            continue  # the loop's own summary; its items were counted
        if data["task_action"] not in CONTROLLER_ACTIONS:
            hosts = remote.setdefault(key, {})
            hosts[host] = hosts.get(host, 0) + 1
            play.remote_per_host = max(hosts.values())
    return list(plays.values())
