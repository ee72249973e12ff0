# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The workflows: the first day; an upgrade with approvals and a canary; a training on the nodes that are well. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.site import Site
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import survey

# The template of a launch on what the workflow has found before.
QUALIFIED = "Launch a training on qualified nodes"
# What names the canary in the workflow of an upgrade.
CANARY = "gaudi_hosts"


def workflows(site: Site, playbooks: Sequence[Playbook]) -> list[dict[str, Any]]:
    """What makes each: the options of the module workflow_job_template, and of its nodes those of their own module."""
    known = {one.name: one for one in playbooks}
    upgrade, launch = known["upgrade_driver"], known["launch_training"]
    # A workflow's answer beats what one of its nodes says, and the canary's says which node it is.
    upgrade = replace(upgrade, asks=tuple(name for name in upgrade.asks if name != CANARY))
    return [
        _workflow(site, "First day", "Preflight, the whole site, and each node measured.", {}, _first_day(site, known)),
        _workflow(
            site,
            "Upgrade",
            "A plan, an approval, one canary, an approval, the rest.",
            survey(upgrade, site.survey_defaults, site.variables),
            _upgrade(site, known),
        ),
        _workflow(
            site,
            "Qualify, then launch",
            "Each node measured, and a training on the healthy ones.",
            survey(launch, site.survey_defaults, site.variables),
            _qualified_launch(site, known),
        ),
    ]


def _first_day(site: Site, known: Mapping[str, Playbook]) -> list[dict[str, Any]]:
    title = "Continue without the nodes that the preflight refused"
    return [
        _job(site, "preflight", known["preflight"].title, success_nodes=["site"], failure_nodes=["go-on"]),
        _approval(site, "go-on", title, success_nodes=["site"]),
        # Its nodes that failed are no reason to leave the others unmeasured.
        _job(site, "site", known["site"].title, always_nodes=["qualify"]),
        _job(site, "qualify", known["qualify_nodes"].title),
    ]


def _upgrade(site: Site, known: Mapping[str, Playbook]) -> list[dict[str, Any]]:
    upgrade = known["upgrade_driver"].title
    canary = {"extra_data": {CANARY: site.canary}}
    return [
        # A plan with a node in the way is worth a look, and is no reason to end here.
        _job(site, "plan", known["plan_upgrade"].title, always_nodes=["begin"]),
        _approval(site, "begin", "Upgrade the canary, as planned", success_nodes=["canary"]),
        {**_job(site, "canary", upgrade, success_nodes=["go-on"]), **canary},
        _approval(site, "go-on", "The canary passed; upgrade all nodes", success_nodes=["rest"]),
        _job(site, "rest", upgrade),
    ]


def _qualified_launch(site: Site, known: Mapping[str, Playbook]) -> list[dict[str, Any]]:
    return [
        # It fails where a node is bad, and names the others all the same.
        _job(site, "qualify", known["qualify_nodes"].title, always_nodes=["launch"]),
        _job(site, "launch", QUALIFIED),
    ]


def _workflow(
    site: Site, title: str, description: str, asked: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    workflow = {
        "name": site.named(title),
        "description": description,
        "organization": site.organization,
        "ask_variables_on_launch": True,
        "allow_simultaneous": False,
        "survey_enabled": bool(asked),
        "simplified_workflow_nodes": list(nodes),
    }
    # The module takes an empty survey for none that is to be looked at.
    return {**workflow, "survey_spec": asked} if asked else workflow


def _job(site: Site, identifier: str, title: str, **edges: Sequence[str]) -> dict[str, Any]:
    template = {"unified_job_template": site.named(title), "lookup_organization": site.organization}
    return {"identifier": identifier, **template, **edges}


def _approval(site: Site, identifier: str, title: str, **edges: Sequence[str]) -> dict[str, Any]:
    return {"identifier": identifier, "approval_node": {"name": title, "timeout": site.approval_timeout}, **edges}
