# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a host has nothing for a report: what failed on it before, of what the roles' tasks registered; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of a task that registers nothing only the run's output knows.
NOT_KNOWN = "it did not respond, or an earlier task failed on it: the run's output has the error"
_OURS = ("gaudi_", "__gaudi_")


def earlier_failure(variables: Mapping[str, Any]) -> str:
    """The message of the last task that failed or could not reach the host; empty where none is registered."""
    failed = [
        value
        for name, value in variables.items()
        if name.startswith(_OURS) and isinstance(value, Mapping) and (value.get("failed") or value.get("unreachable"))
    ]
    told = [(one.get("unreachable"), str(one["msg"]).strip()) for one in failed if str(one.get("msg") or "").strip()]
    if not told:
        return ""
    unreachable, message = told[-1]
    return f"unreachable: {message}" if unreachable else message
