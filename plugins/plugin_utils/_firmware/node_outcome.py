# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How writing the firmware of a node went, from what its tasks returned; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.registered import message

# What can be said of a node's tasks.
EVENTS = ("begun", "ended", "failed", "not_resumed")
BEGUN = {"state": "failed", "reason": "it was started and did not finish."}
WRITTEN, FORESEEN, POWER_CYCLE = "written", "would be written", "power cycle needed"
# States after which a round was tried in vain. A node that was refused has tried nothing.
WRONG = ("failed", "unreachable")


def outcome(told: Mapping[str, Any], check_mode: bool = False) -> dict[str, str]:
    """How it went by one of ``EVENTS``; ``told`` has the options of the action ``rollout``."""
    if told["event"] == "begun":
        return BEGUN
    if told["event"] == "ended":
        return ended(told["result"], check_mode)
    if told["event"] == "not_resumed":
        return not_resumed(told["failure"])
    return failed(told["failure"], told["result"], told["so_far"])


def ended(result: Mapping[str, Any], check_mode: bool = False) -> dict[str, str]:
    """All its tasks have ended, the last ``result`` of the module ``hpu_firmware`` with cards as they are now."""
    waiting = len(result.get("power_cycle_needed") or ())
    if waiting:
        reason = (
            f"{waiting} cards were written and still show their old version; power cycle the node, then run this again."
        )
        return {"state": POWER_CYCLE, "reason": reason}
    return {"state": FORESEEN if check_mode else WRITTEN, "reason": ""}


def failed(failure: Mapping[str, Any], result: Mapping[str, Any], so_far: Mapping[str, Any]) -> dict[str, str]:
    """A task has failed; ``so_far`` is the outcome until then, empty where nothing was written yet."""
    state = "unreachable" if result.get("unreachable") else "failed" if so_far.get("state") else "refused"
    return {"state": state, "reason": message(failure)}


def not_resumed(failure: Mapping[str, Any]) -> dict[str, str]:
    """The scheduler did not take the node back."""
    return {"state": "unchanged", "reason": f"it could not be resumed: {message(failure)}"}


def stops(states: Mapping[str, str], batch: object) -> bool:
    """Whether the rounds after that of ``batch`` are not begun: it went wrong, and none before it has written."""
    now = batch if isinstance(batch, (list, tuple)) else ()
    wrong = any(states.get(host) in WRONG for host in now)
    return wrong and not any(state == WRITTEN for host, state in states.items() if host not in now)
