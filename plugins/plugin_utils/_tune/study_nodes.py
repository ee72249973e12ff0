# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which node keeps a tuning study, and which nodes did not work on it; from what the role registered; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED, STOPPED

STORAGE = "GAUDI3_SCALE_TUNE_STORAGE"
# What the role registers for each node, and is read here.
REGISTERED = (
    "__gaudi_tune_kept",
    "__gaudi_tune_before",
    "__gaudi_tune_packages",
    "__gaudi_tune_info",
)


@dataclass(frozen=True)
class StudyNodes:
    """``keeper``: the node that has the study, else the first that is alive, or empty where none is.

    ``lost_keeper``: the node that has it, by what the others were told, but is not among those that are alive.
    ``absent``: nodes that did not work to the end, each with the reason.
    """

    keeper: str
    lost_keeper: str
    absent: Mapping[str, str]


def tune_nodes(hosts: Sequence[Mapping[str, Any]], alive: Sequence[str]) -> StudyNodes:
    """``hosts`` are the variables of the nodes in the study's order, with those of REGISTERED that they have."""
    there = [host for host in hosts if host["inventory_hostname"] in alive]
    having = [host for host in there if _has_study(host)]
    keeper = next((str(host["inventory_hostname"]) for host in [*having, *there]), "")
    names = {_address(host): str(host["inventory_hostname"]) for host in hosts}
    reported = sorted({address for address in map(_reported, hosts) if address} - set(map(_address, there)))
    reasons = {str(host["inventory_hostname"]): _reason(host, alive) for host in hosts}
    return StudyNodes(
        keeper,
        names.get(reported[0], reported[0]) if reported and not having else "",
        {name: reason for name, reason in reasons.items() if reason},
    )


def lost(name: str, keeper: str) -> str:
    """Why a study is not begun anew, or nothing where no node that has it is lost."""
    if not keeper:
        return ""
    return (
        f"Study {name} is stored on {keeper}, which did not respond, or failed before; bring that node back, or "
        "choose another gaudi_tune_name."
    )


def _has_study(host: Mapping[str, Any]) -> bool:
    return bool(host.get("__gaudi_tune_kept", {}).get("stat", {}).get("exists"))


def _address(host: Mapping[str, Any]) -> str:
    return str(host.get("ansible_host", host["inventory_hostname"]))


def _reported(host: Mapping[str, Any]) -> str:
    """The address of the keeper that the node was given last; empty for a storage of the site's own."""
    description = host.get("__gaudi_tune_before", {}).get("description") or {}
    url = urlsplit(str((description.get("environment") or {}).get(STORAGE, "")))
    return (url.hostname or "") if url.scheme == "grpc" else ""


def _reason(host: Mapping[str, Any], alive: Sequence[str]) -> str:
    packages, info = host.get("__gaudi_tune_packages", {}), host.get("__gaudi_tune_info", {})
    if packages.get("failed"):
        return str(packages.get("msg"))
    if info.get("unreachable") or (not info and host["inventory_hostname"] not in alive):
        return "it did not respond, or failed before it could begin"
    if info.get("state") == STOPPED:
        return "it was stopped; run the playbook again to resume"
    if info.get("state") == FAILED:
        return str((info.get("failure") or {}).get("message") or "its worker group failed")
    return ""
