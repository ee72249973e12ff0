# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The batch-size probe over all nodes: one of each kind searches, then the others verify.

Nodes are reached through ``probe`` alone, so that the rounds can be tested without any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_inventory import Results, next_round

# One node of each kind, then another one where that failed, then the verification of all others, which may come one
# round later.
MOST_ROUNDS = 4

# Nodes, the size that they shall verify (None: they search), and whether they only look; what each of them answered.
Probe = Callable[[Sequence[str], "int | None", bool], Mapping[str, Mapping[str, Any]]]


def probe_all(hosts: Sequence[str], probe: Probe, show: Callable[[str], None], *, check_mode: bool) -> Results:
    """What each node answered last, by node. One that fails stops no other one; in check mode nothing is tried."""
    results = dict(probe(hosts, None, True))
    for _round in range(0 if check_mode else MOST_ROUNDS):
        plan = next_round(results)
        if plan.search:
            show(f"Searching on one node of each kind: {', '.join(plan.search)}.")
            results.update(probe(plan.search, None, False))
        elif plan.verify:
            show(f"Verifying batch size {plan.batch_size} on {', '.join(plan.verify)}.")
            results.update(probe(plan.verify, plan.batch_size, False))
        else:
            break
    return {host: results[host] for host in hosts}
