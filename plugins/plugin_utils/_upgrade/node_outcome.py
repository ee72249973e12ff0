# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What became of a node in an upgrade, and what follows from it for that node; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.registered import message

# What can be said of a node's tasks.
EVENTS = ("arrived", "failed", "rolled_back", "not_rolled_back", "not_resumed")
# What is kept of a node.
OUTCOME = ("state", "release", "from", "to", "reason", "roll_back", "resume")
# States of a node that is at the release and fit for work.
GOOD = ("upgraded", "downgraded", "installed", "unchanged")
# A node that is not as it should be stays out of its scheduler; what was not touched, or is back, does not.
IN_SERVICE = (*GOOD, "rolled_back", "refused")


@dataclass(frozen=True)
class Way:
    """What is known of a node on its way to ``release``.

    ``answer`` is what its facts said, ``before`` what the driver's module foresaw, ``driver`` its last result, and
    ``at_release`` whether the node has come as far as that driver. ``failure`` is the result of the task that failed.
    """

    release: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    driver: Mapping[str, Any] = field(default_factory=dict)
    at_release: bool = False
    failure: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        return bool(self.answer.get("unreachable") or self.driver.get("unreachable"))


def outcome(told: Mapping[str, Any], check_mode: bool = False) -> dict[str, Any]:
    """What became of the node by one of ``EVENTS``; ``told`` has the options of the action ``rollout``."""
    event, failure = told["event"], told["failure"]
    so_far = {name: told["so_far"].get(name) for name in OUTCOME}
    if event == "rolled_back":
        return rolled_back(so_far)
    if event == "not_rolled_back":
        return not_rolled_back(so_far, failure)
    if event == "not_resumed":
        return not_resumed(so_far, failure)
    known = {name: told[name] for name in ("release", "answer", "before", "at_release", "failure")}
    way = Way(driver=told["result"], **known)
    return arrived(way) if event == "arrived" else failed(way, check_mode)


def arrived(way: Way) -> dict[str, Any]:
    """The node is at the release, its layers are, and it is fit for work."""
    return _outcome(way, str(way.before["state"]), way.driver["package_version"], _reason(way.driver["not_started"]))


def failed(way: Way, check_mode: bool = False) -> dict[str, Any]:
    """A task on the way has failed. A node with the driver of the release that is not fit for work goes back."""
    # A module that was killed on the node leaves no result; how far it came is in the node's marker.
    killed = "module_stdout" in way.failure
    reason = (
        f"A module was killed on the node ({way.failure.get('msg') or ''}); check its journal for the cause, and run "
        "again; the upgrade resumes where it stopped."
        if killed
        else message(way.failure)
    )
    passed = "unreachable" if way.lost else "unfit" if way.at_release else "failed" if killed else "refused"
    state = str(way.failure.get("state") or passed)
    back = bool(state == "unfit" and way.before.get("steps") and way.before.get("previous_release"))
    return {**_outcome(way, state, way.release, reason), "roll_back": back and not check_mode}


def rolled_back(before: Mapping[str, Any]) -> dict[str, Any]:
    """``before`` is what :func:`failed` said; the node is back at the release it had."""
    return {**before, **_follows("rolled_back")}


def not_rolled_back(before: Mapping[str, Any], failure: Mapping[str, Any]) -> dict[str, Any]:
    """Going back failed too."""
    reason = f"{before['reason']} Going back to {before['from']} also failed: {failure.get('msg') or ''}"
    return {**before, **_follows("failed"), "reason": reason}


def not_resumed(before: Mapping[str, Any], failure: Mapping[str, Any]) -> dict[str, Any]:
    """The scheduler did not take the node back."""
    return {**before, **_follows("drained"), "reason": str(failure.get("msg") or "")}


def _outcome(way: Way, state: str, to: object, reason: str) -> dict[str, Any]:
    known = {"release": way.release, "from": way.before.get("previous_release") or None, "to": to, "reason": reason}
    return {**known, **_follows(state)}


def _follows(state: str) -> dict[str, Any]:
    return {"state": state, "roll_back": False, "resume": state in IN_SERVICE}


def _reason(sentences: object) -> str:
    return " ".join(map(str, sentences)) if isinstance(sentences, (list, tuple)) else ""
