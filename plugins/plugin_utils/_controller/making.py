# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Objects of a controller made one after the other by a collection's modules, and why one could not be made; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import Objects

# Variable of the data -> the module that makes one of its objects, and what people call it.
MODULES = {
    "controller_labels": ("label", "label"),
    "controller_credential_types": ("credential_type", "credential type"),
    "controller_execution_environments": ("execution_environment", "execution environment"),
    "controller_notifications": ("notification_template", "notification"),
    "controller_projects": ("project", "project"),
    "controller_inventories": ("inventory", "inventory"),
    "controller_inventory_sources": ("inventory_source", "inventory source"),
    "controller_templates": ("job_template", "job template"),
    "controller_workflows": ("workflow_job_template", "workflow"),
    "controller_schedules": ("schedule", "schedule"),
}
MADE, CHANGED, SAME, FOLLOWS = "made", "changed", "same", "follows"
# How the modules of awx.awx say that something else has to be there first.
_MISSING = re.compile(r"returned 0 items|was not found|[Cc]ould not find|Unable to [Ff]ind|'NoneType' object")

# The key of a workflow's nodes in the data, and those of a node that name others.
NODES = "simplified_workflow_nodes"
EDGES = ("success_nodes", "failure_nodes", "always_nodes")

Call = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """One object: its kind as people call it, its name, and what became of it."""

    kind: str
    name: str
    state: str


def make(objects: Objects, call: Call, host: str, check_mode: bool) -> Iterator[Step]:
    """Make or correct each; raises GaudiError for the first that cannot be.

    ``call`` runs a module of the collection by its name without the collection's. In check mode what needs an object
    that is only foreseen cannot be compared, and ``FOLLOWS``.
    """
    foreseen = False
    for variable, entries in objects.items():
        module, kind = MODULES[variable]
        for entry in entries:
            name = str(entry["name"])
            states = []
            for part, arguments in _parts(module, entry):
                answer = call(part, arguments)
                if not answer.get("failed"):
                    states.append(_state(answer))
                elif check_mode and (foreseen or MADE in states) and _MISSING.search(_said(answer)):
                    states.append(FOLLOWS)
                else:
                    raise GaudiError(refusal(_said(answer), host, kind, name))
            foreseen = foreseen or states[0] == MADE
            yield Step(kind, name, _together(states))


def _parts(module: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The calls that make one object: a workflow's nodes are made first and then joined, since each names others.

    The module of a workflow could do it in one call, and would then call each approval changed every time.
    """
    nodes = entry.get(NODES)
    if nodes is None:
        yield module, entry
        return
    yield module, {name: value for name, value in entry.items() if name != NODES}
    place = {"workflow_job_template": entry["name"], "organization": entry["organization"]}
    for node in nodes:
        yield "workflow_job_template_node", {**place, **{one: node[one] for one in node if one not in EDGES}}
    for node in nodes:
        edges = {edge: node[edge] for edge in EDGES if edge in node}
        if edges:
            yield "workflow_job_template_node", {**place, "identifier": node["identifier"], **edges}


def _together(states: Sequence[str]) -> str:
    """What became of an object, by its parts; the first is the object itself."""
    if states[0] != SAME:
        return states[0]
    return SAME if {*states} == {SAME} else CHANGED


def _state(answer: Mapping[str, Any]) -> str:
    if not answer.get("changed"):
        return SAME
    # The modules tell the name of what they have made, and the id of what was there.
    return MADE if "name" in answer or "id" not in answer else CHANGED


def _said(answer: Mapping[str, Any]) -> str:
    # A module that broke has its reason elsewhere.
    message = answer.get("module_stderr") or answer.get("msg") or answer.get("exception", "no message")
    said = "; ".join(str(part) for part in message) if isinstance(message, list) else str(message)
    detail = answer.get("response")
    return f"{said} {detail['json']}" if isinstance(detail, Mapping) and "json" in detail else said


def refusal(said: str, host: str, kind: str, name: str) -> str:
    """One sentence for what a module said."""
    what = f"{host}: the {kind} {name} could not be made"
    for found, remedy in _REMEDIES:
        if re.search(found, said):
            return f"{what}: {remedy}"
    return f"{what}: {' '.join(said.split())}"


_REMEDIES = (
    (
        r"HTTP 401|HTTP Error 401",
        (
            "the controller does not know this token or password (401); look at gaudi_controller_token, or at "
            "gaudi_controller_username and gaudi_controller_password."
        ),
    ),
    (
        r"HTTP 403|HTTP Error 403",
        "this account may not do that (403); give it the right to administer the organization.",
    ),
    (
        r"could not be found at|HTTP Error 404",
        (
            "there is no such address (404); look at gaudi_controller_host, and give gaudi_controller_api_prefix where "
            "the controller is behind a gateway, as in /api/controller/."
        ),
    ),
    (
        r"[Cc]ould not establish a secure connection|CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        (
            "its certificate is not trusted here; add its authority to the system's, or set "
            "gaudi_controller_validate_certs to false where you know the host."
        ),
    ),
    (
        r"network error|unknown error when trying to connect|Unable to resolve|Failed to get token: <url",
        "the controller does not answer; look at gaudi_controller_host and the network.",
    ),
    (
        r"/credentials/\?",
        (
            "it has no credential of that name; make it there, or correct gaudi_controller_credentials or "
            "gaudi_controller_scm_credential."
        ),
    ),
    (
        r"/organizations/\?",
        "it has no organization of that name; make it there, or correct gaudi_controller_organization.",
    ),
)
