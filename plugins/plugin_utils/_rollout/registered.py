# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the tasks of a rollout have registered on its nodes; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def states(hosts: Sequence[str], variable: str, hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The state in ``variable`` of each host whose turn has come; the others have registered none."""
    outcomes = {host: hostvars[host].get(variable) for host in hosts}
    return {host: str(outcome["state"]) for host, outcome in outcomes.items() if outcome and "state" in outcome}


def message(failure: Mapping[str, Any]) -> str:
    """What the task said that failed."""
    return str(failure.get("msg") or "see the task that failed")
