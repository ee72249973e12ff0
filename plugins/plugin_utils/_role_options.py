# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Names of variables that begin as a role's options do and are none of them; pure, and values are never seen."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# What roles register beside NAME_result. A contract test holds it against their tasks.
FURTHER_RESULTS: Mapping[str, Collection[str]] = {
    "gaudi_audit": ("gaudi_audit_facts_result",),
    "gaudi_collectives": ("gaudi_collectives_measured_result",),
    "gaudi_comparison": ("gaudi_comparison_together_result",),
    "gaudi_container_runtime": ("gaudi_container_runtime_check_result",),
    "gaudi_driver_upgrade": ("gaudi_driver_upgrade_plan_result",),
    "gaudi_fabric": (
        "gaudi_fabric_efa_result",
        "gaudi_fabric_measured_result",
        "gaudi_fabric_networks_result",
        "gaudi_fabric_plan_result",
        "gaudi_fabric_verbs_result",
    ),
    "gaudi_firmware": ("gaudi_firmware_outcome_result", "gaudi_firmware_shown_result"),
    "gaudi_exporter": ("gaudi_exporter_show_result",),
    "gaudi_monitoring": ("gaudi_monitoring_cloudwatch_result", "gaudi_monitoring_identity_result"),
    "gaudi_qualification": (
        "gaudi_qualification_baseline_result",
        "gaudi_qualification_find_result",
        "gaudi_qualification_schedule_result",
    ),
    "gaudi_quarantine": ("gaudi_quarantine_info_result", "gaudi_quarantine_marks_result"),
    "gaudi_storage": ("gaudi_storage_measure_result",),
    "gaudi_slurm": ("gaudi_slurm_node_result",),
    "gaudi_tuning": ("gaudi_tuning_explain_result",),
    "gaudi_verify": ("gaudi_verify_all_reduce_result",),
}
# Without the prefix, which is the same in all of them and would make any two names alike.
NEAR = 0.6


@dataclass(frozen=True)
class SpecifiedRole:
    """A role by the name of its folder, its name with the collection's, and its options of all entry points."""

    name: str
    full_name: str
    options: frozenset[str]

    @property
    def prefix(self) -> str:
        return f"{self.name}_"

    @property
    def known(self) -> frozenset[str]:
        """All that a variable with the role's prefix can be."""
        return self.options | {f"{self.name}_result", *FURTHER_RESULTS.get(self.name, ())}


def specified(name: str, full_name: str, entries: Mapping[str, Any]) -> SpecifiedRole:
    """The role whose specification has ``entries``."""
    options = [entry.get("options") or {} for entry in entries.values()]
    return SpecifiedRole(name, full_name, frozenset(str(option) for one in options for option in one))


def refusal(role: SpecifiedRole, host: str, names: Iterable[object], longer: Collection[SpecifiedRole] = ()) -> str:
    """A sentence for each of ``names`` that has the role's prefix and is unknown; nothing where there is none.

    ``longer`` are the roles whose names begin with this prefix too: what they know is none of this role's business.
    """
    known = role.known.union(*(other.known for other in longer))
    near = sorted(role.options.union(*(other.options for other in longer)))
    unknown = sorted(str(name) for name in names if isinstance(name, str) and name.startswith(role.prefix))
    return " ".join(_sentence(role, host, name, near) for name in unknown if name not in known)


def _sentence(role: SpecifiedRole, host: str, name: str, options: Iterable[str]) -> str:
    ends = [option[len(role.prefix) :] for option in options]
    nearest = difflib.get_close_matches(name[len(role.prefix) :], ends, n=1, cutoff=NEAR)
    # An inventory may have any text for a name.
    shown = name if name.isidentifier() else ascii(name)
    hint = (
        f"did you mean {role.prefix}{nearest[0]}?"
        if nearest
        else f"remove it, or name one that `ansible-doc -t role {role.full_name}` shows."
    )
    return f"{shown} is no option of {role.name} on {host}; {hint}"
