# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Names of variables that begin as a role's options do and are none of them; pure, and values are never seen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

# What roles register beside NAME_result. A contract test holds it against their tasks.
FURTHER_RESULTS: Mapping[str, Collection[str]] = {
    "gaudi_audit": ("gaudi_audit_facts_result",),
    "gaudi_collectives": ("gaudi_collectives_measured_result",),
    "gaudi_compare": ("gaudi_compare_together_result",),
    "gaudi_containers": ("gaudi_containers_check_result",),
    "gaudi_upgrade": ("gaudi_upgrade_plan_result",),
    "gaudi_fabric": (
        "gaudi_fabric_efa_result",
        "gaudi_fabric_benchmark_result",
        "gaudi_fabric_networks_result",
        "gaudi_fabric_plan_result",
        "gaudi_fabric_verbs_result",
    ),
    "gaudi_firmware": ("gaudi_firmware_outcome_result", "gaudi_firmware_shown_result"),
    "gaudi_exporter": ("gaudi_exporter_show_result",),
    "gaudi_monitoring": ("gaudi_monitoring_cloudwatch_result", "gaudi_monitoring_identity_result"),
    "gaudi_qualify": (
        "gaudi_qualify_baseline_result",
        "gaudi_qualify_find_result",
        "gaudi_qualify_schedule_result",
    ),
    "gaudi_quarantine": ("gaudi_quarantine_info_result", "gaudi_quarantine_marks_result"),
    "gaudi_serving": ("gaudi_serving_measured_result",),
    "gaudi_storage": ("gaudi_storage_measure_result",),
    "gaudi_slurm": ("gaudi_slurm_node_result",),
    "gaudi_flags": ("gaudi_flags_explain_result",),
    "gaudi_training": ("gaudi_training_profile_result",),
    "gaudi_verify": ("gaudi_verify_all_reduce_result",),
}
# What AWX hands to the next job of a workflow: one name for each kind of report. A contract test holds it against roles
# and playbooks.
OUTCOMES = frozenset(
    f"gaudi_outcome_{kind}"
    for kind in (
        "benchmark_fabric",
        "benchmark_training",
        "cap_power",
        "cluster_audit",
        "compare_settings",
        "explain_flags",
        "explain_node",
        "find_bad_nodes",
        "launch_training",
        "measure_collectives",
        "measure_serving",
        "measure_storage",
        "plan_fabric",
        "plan_upgrade",
        "probe_batch_size",
        "profile_training",
        "qualify_nodes",
        "report_cost",
        "show_fleet",
        "show_training",
        "site",
        "support_bundle",
        "tune_training",
        "upgrade_driver",
        "upgrade_firmware",
    )
)
# What modules of the collection set as facts, which are variables where Ansible makes them so.
FACTS = frozenset({"gaudi_batch_size", "gaudi_fabric"})
# With it a site names variables of its own that begin as the collection's do.
OF_THE_SITE = "gaudi_site_variables"
# Without the prefix, which is the same in all of them and would make any two names alike.
NEAR = 0.6
PREFIX = "gaudi_"
# The value of a variable of a role that is an option of the whole collection, or of another role, under another name.
_READS = re.compile(r"^\{\{ (gaudi_\w+)")


# Options that count ranks of a node, and what is none of their values.
_OF_RANKS = re.compile(r"gaudi_\w+_processes(?:_per_node)?")
_FRACTION = re.compile(r"\d*\.\d*[1-9]\d*")


@dataclass(frozen=True)
class SpecifiedRole:
    """A role by the name of its folder, its name with the collection's, and its options of all entry points.

    ``shared``: what it has under a name of its own -> the option of the whole collection that it comes from.
    """

    name: str
    full_name: str
    options: frozenset[str]
    shared: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        return f"{self.name}_"

    @property
    def known(self) -> frozenset[str]:
        """All that a variable with the role's prefix can be."""
        return self.options | {f"{self.name}_result", *FURTHER_RESULTS.get(self.name, ())}


def specified(
    name: str, full_name: str, entries: Mapping[str, Any], variables: Mapping[str, Any] | None = None
) -> SpecifiedRole:
    """The role whose specification has ``entries``, and whose vars/main.yml has ``variables``."""
    options = [entry.get("options") or {} for entry in entries.values()]
    known = frozenset(str(option) for one in options for option in one)
    return SpecifiedRole(name, full_name, known, dict(_shared_in(f"__{name}_", variables or {})))


def _shared_in(prefix: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        found = _READS.match(value) if isinstance(value, str) and name.startswith(prefix) else None
        if found:
            yield name[len(prefix) :], found[1]


def refusal(role: SpecifiedRole, host: str, names: Iterable[object], longer: Collection[SpecifiedRole] = ()) -> str:
    """A sentence for each of ``names`` that has the role's prefix and is unknown; nothing where there is none.

    ``longer`` are the roles whose names begin with this prefix too: what they know is none of this role's business.
    """
    known = role.known.union(*(other.known for other in longer))
    near = sorted(role.options.union(*(other.options for other in longer)))
    unknown = sorted(str(name) for name in names if isinstance(name, str) and name.startswith(role.prefix))
    return " ".join(_sentence(role, host, name, near) for name in unknown if name not in known | FACTS)


def split_refusal(variables: Mapping[str, Any]) -> str:
    """A sentence for a number of ranks on a node that is no whole one, as of half a card; else nothing."""
    for name in filter(_OF_RANKS.fullmatch, map(str, variables)):
        value = variables[name]
        if isinstance(value, (str, float)) and _FRACTION.fullmatch(str(value).strip()):
            return f"{name} is {value}, and cards cannot be split: each rank has a whole one; give a whole number."
    return ""


def shared_refusal(host: str, names: Iterable[object], roles: Collection[str], own: Collection[str]) -> str:
    """The same for what begins with ``gaudi_`` and is an option of the collection or of one of ``roles`` by no means.

    ``own`` are names that the site marks as its own.
    """
    known = OUTCOMES | FACTS | {*SHARED, *own}
    unknown = sorted(
        name
        for name in names
        if isinstance(name, str)
        and name.startswith(PREFIX)
        and name not in known
        and not any(name == role or name.startswith(f"{role}_") for role in roles)
    )
    return " ".join(_shared_sentence(host, name) for name in unknown)


def _shared_sentence(host: str, name: str) -> str:
    return _unknown(
        name, PREFIX, SHARED, f"gaudi3.scale on {host}", f"remove it, or add it to {OF_THE_SITE} if it is yours."
    )


def _sentence(role: SpecifiedRole, host: str, name: str, options: Iterable[str]) -> str:
    shown = f"remove it, or use one that `ansible-doc -t role {role.full_name}` shows."
    return _unknown(name, role.prefix, options, f"{role.name} on {host}", shown)


def _unknown(name: str, prefix: str, options: Iterable[str], whose: str, otherwise: str) -> str:
    """That ``name`` is none of ``options``, with the nearest of them, or with what to do ``otherwise``."""
    ends = [option[len(prefix) :] for option in sorted(options)]
    nearest = difflib.get_close_matches(name[len(prefix) :], ends, n=1, cutoff=NEAR)
    # An inventory may have any text for a name.
    shown = name if name.isidentifier() else ascii(name)
    hint = f"did you mean {prefix}{nearest[0]}?" if nearest else otherwise
    return f"{shown} is not an option of {whose}; {hint}"
