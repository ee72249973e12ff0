# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""All objects of the controller, in the data shape of the collection infra.aap_configuration; pure.

A list of objects a variable, each with the options of the module that makes it, so that the same data serves that
collection's roles and the modules of awx.awx or ansible.controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.site import Site
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import refuse_unasked, survey
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.workflows import QUALIFIED, workflows

Objects = Mapping[str, Sequence[Mapping[str, Any]]]
EVENTS = ("started", "success", "error")
# Several of one kind may run beside each other: those that only look, and jobs by their names.
_SIMULTANEOUS = ("nothing", "job")
# Seconds. A controller may end whatever runs for four hours, as AWX has been seen to (awx issues 11594 and 11805); by
# then following has ended by itself and says how it goes on.
FOLLOWED_S = 13500
# What a job says that nothing has qualified nodes for.
ALONE = "No qualification came before; launch the workflow Qualify, then launch, or the template Launch a training."
REPORTS = {
    "name": "gaudi3.scale reports in S3",
    "description": "Where pages and figures go, since an execution environment is gone after its job.",
    "kind": "cloud",
    "inputs": {
        "fields": [
            {"id": "target", "type": "string", "label": "s3://bucket/prefix"},
            {"id": "access_key", "type": "string", "label": "Access key"},
            {"id": "secret_key", "type": "string", "label": "Secret key", "secret": True},
            {"id": "region", "type": "string", "label": "Region"},
            {"id": "endpoint", "type": "string", "label": "Endpoint, of a storage that is not Amazon's"},
        ],
        "required": ["target", "access_key", "secret_key"],
    },
    "injectors": {
        "env": {
            "AWS_ACCESS_KEY_ID": "{{ access_key }}",
            "AWS_SECRET_ACCESS_KEY": "{{ secret_key }}",
            "AWS_DEFAULT_REGION": "{{ region }}",
            "AWS_ENDPOINT_URL_S3": "{{ endpoint }}",
        },
        "extra_vars": {"gaudi_report_target": "{{ target }}"},
    },
}


def controller_objects(site: Site, playbooks: Sequence[Playbook]) -> dict[str, list[dict[str, Any]]]:
    """Variable -> objects, in the order in which they can be made; raises GaudiError for what cannot be meant."""
    refuse_unasked(playbooks, site.survey_defaults)
    _refuse_unknown_schedules(site, playbooks)
    made: dict[str, list[dict[str, Any]]] = {
        "controller_labels": [{"name": "gaudi3.scale", "organization": site.organization}],
        "controller_credential_types": [REPORTS],
        "controller_execution_environments": _execution_environments(site),
        "controller_notifications": [{"organization": site.organization, **dict(one)} for one in site.notifications],
        "controller_projects": [_project(site)],
        "controller_inventories": [{"name": site.inventory, "organization": site.organization, "kind": ""}],
        "controller_inventory_sources": _sources(site),
        "controller_templates": _templates(site, playbooks),
        "controller_workflows": workflows(site, playbooks),
        "controller_schedules": _schedules(site, playbooks),
    }
    return {variable: objects for variable, objects in made.items() if objects}


def _execution_environments(site: Site) -> list[dict[str, Any]]:
    if not site.execution_environment_image:
        return []
    return [{"name": site.execution_environment, "image": site.execution_environment_image, "pull": "missing"}]


def _project(site: Site) -> dict[str, Any]:
    project: dict[str, Any] = {
        "name": site.project,
        "organization": site.organization,
        "scm_type": "git",
        "scm_url": site.scm_url,
        "scm_branch": site.scm_branch,
    }
    return {**project, "credential": site.scm_credential} if site.scm_credential else project


def _sources(site: Site) -> list[dict[str, Any]]:
    if not site.inventory_source:
        return []
    fixed = {"name": site.inventory, "inventory": site.inventory, "organization": site.organization}
    return [{**fixed, **site.inventory_source}]


def _templates(site: Site, playbooks: Sequence[Playbook]) -> list[dict[str, Any]]:
    templates = [_template(site, template, {}) for one in playbooks for template in one.templates]
    launch = next(one for one in playbooks if one.name == "launch_training")
    hosts = {"gaudi_training_hosts": f"{{{{ (gaudi_outcome_qualify_nodes | mandatory('{ALONE}')).ok_nodes }}}}"}
    qualified = {**_template(site, launch, hosts), "name": site.named(QUALIFIED)}
    return [*templates, {**qualified, "description": "The same on the nodes that the workflow has found healthy."}]


def _template(site: Site, playbook: Playbook, variables: Mapping[str, Any]) -> dict[str, Any]:
    asked = survey(playbook, site.survey_defaults, site.variables)
    if "gaudi_training_follow" in playbook.asks:
        variables = {"gaudi_training_timeout": FOLLOWED_S, **variables}
    template: dict[str, Any] = {
        "name": site.named(playbook.title),
        "description": playbook.purpose,
        "organization": site.organization,
        "job_type": "run",
        "project": site.project,
        "playbook": f"playbooks/{playbook.name}.yml",
        "inventory": site.inventory,
        "credentials": list(site.credentials),
        "ask_credential_on_launch": not site.credentials,
        "forks": site.forks,
        # A limit or a slice would leave out nodes that it needs.
        "job_slice_count": 1,
        "ask_job_slice_count_on_launch": not playbook.together,
        "ask_limit_on_launch": not playbook.together,
        "ask_variables_on_launch": True,
        "ask_job_type_on_launch": True,
        "ask_diff_mode_on_launch": True,
        "ask_verbosity_on_launch": True,
        "allow_simultaneous": playbook.changes in _SIMULTANEOUS,
        "survey_enabled": bool(asked),
        "survey_spec": asked,
        "extra_vars": {**site.variables, **playbook.sets, **variables},
        "labels": ["gaudi3.scale"],
        **notified(site),
    }
    if site.execution_environment_image:
        template["execution_environment"] = site.execution_environment
    return template


def notified(site: Site) -> dict[str, list[str]]:
    """Of which events a template tells, and to whom."""
    names = [str(one["name"]) for one in site.notifications]
    return {f"notification_templates_{event}": names if event in site.notify_on else [] for event in EVENTS}


def _schedules(site: Site, playbooks: Sequence[Playbook]) -> list[dict[str, Any]]:
    titles = {one.name: one.title for one in playbooks}
    return [
        {
            "name": site.named(titles[name]),
            "organization": site.organization,
            "unified_job_template": site.named(titles[name]),
            "rrule": rule,
        }
        for name, rule in site.schedules.items()
    ]


def _refuse_unknown_schedules(site: Site, playbooks: Sequence[Playbook]) -> None:
    known = {one.name: one for one in playbooks}
    for name, rule in site.schedules.items():
        if name not in known:
            raise GaudiError(
                f"gaudi_controller_schedules: there is no playbook {name}; name one without its folder and ending."
            )
        if known[name].needs:
            raise GaudiError(
                f"gaudi_controller_schedules: {name} cannot run unattended, because {known[name].needs[0]} has to be "
                "answered; remove it."
            )
        if not str(rule).startswith("DTSTART"):
            raise GaudiError(
                f"gaudi_controller_schedules: the rule of {name} is {rule}; begin it with DTSTART, as in "
                "DTSTART;TZID=UTC:20260101T030000 RRULE:FREQ=DAILY;INTERVAL=1."
            )
