# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Is anything that a node runs no longer supported, or known to be faulty? Against the table of life cycles; pure."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, release_part
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.stack import Stack, age_sentence, life_cycles_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.verdicts import Measured, Unknown


def life_cycles(facts: Facts) -> Measured | Unknown | None:
    """Passes where the release is supported and nothing is known against the rest; what is not known is named."""
    found = facts.of_node("stack")
    if not found.get("driver") or facts.today is None:
        return None
    row = RELEASES.get(release_part(str(found["driver"])))
    if row is None:
        return Unknown(f"the release of driver {found['driver']} is not in the table")
    pytorch = "" if "pytorch" in row.inferred else row.pytorch
    kernels = [str(found["kernel"])] if found["kernel"] else []
    told = life_cycles_of(
        Stack(release=row.version, os=str(found["os"]), kernels=kernels, pytorch=pytorch), facts.today
    )
    bad = [one.sentence(facts.today).rstrip(".") for one in told if one.is_bad]
    if bad:
        return Measured(False, "; ".join(bad))
    outdated = age_sentence(told, facts.today)
    if outdated:
        return Unknown(outdated.rstrip("."))
    unknown = ", ".join(one.subject for one in told if one.row is None) or "nothing"
    return Measured(
        True, f"nothing is known against release {row.version} and what it runs on; not in the table: {unknown}"
    )
