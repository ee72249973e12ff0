# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a node's last qualification is a reason to give it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._qualify.results import HEALTHY, INCONCLUSIVE

# Links need two ends: stages in which a node was measured with another one.
WITH_OTHERS = ("pairs", "ring")


def why_not_returned(since: str, outcome: Mapping[str, Any]) -> str:
    """Why a node that is in quarantine since then has to stay there, and what to do; empty where it has passed.

    ``since`` is a time in UTC by the node's clock, as ``time`` of its ``outcome`` is. A time that nobody can read is
    before every other one.
    """
    time = str(outcome.get("time") or "")
    if not time:
        return "it has not been qualified; run qualify_nodes.yml with it and other nodes, then run this again."
    if since[:1].isdecimal() and time <= since:
        return (
            f"its last qualification is older ({time}); run qualify_nodes.yml with it and other nodes, then run "
            "this again."
        )
    if outcome.get("state") != HEALTHY:
        found = " ".join(map(str, outcome.get("reasons") or ())) or "no reason given."
        remedy = "Repair it, and qualify it again."
        if outcome.get("state") == INCONCLUSIVE:
            # A limit that ran out, or a test that could not be run: there may be nothing to mend.
            remedy = (
                "That is not a fault, but it is not qualified: run qualify_nodes.yml again with it and other nodes."
            )
        return f"its qualification at {time} says {outcome.get('state')}: {found} {remedy}"
    if not set(WITH_OTHERS) & set(outcome.get("stages") or ()):
        return (
            f"its qualification at {time} measured it alone, and links need two ends; run qualify_nodes.yml with other "
            "nodes and all stages, then run this again."
        )
    return ""
