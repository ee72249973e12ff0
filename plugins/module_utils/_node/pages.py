# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which page of the documentation says more about a task that failed; pure.

Every failure of a module, an action and a role's task leads on to one, and a contract test counts them.
"""

from __future__ import annotations

_COLLECTION = "gaudi3.scale."
# Where the pages are, for whoever has no checkout.
ADDRESS = "https://github.com/gaudi3-scale/gaudi3.scale"
# The name in a failed result, which Ansible's own screen shows after the message.
SEE = "see"
# About nodes that do not answer.
REACHING = "docs/first_day.md"
# Of each page under docs/ the roles without gaudi_, the modules and the inventory plugin that it is about.
_ABOUT = {
    "audit": "audit audit_facts cluster_audit",
    "batch": "batch hpu_batch_probe hpu_batch_probe_nodes",
    "benchmark": "benchmark training_benchmark",
    "benchmark_fabric": "fabric_benchmark",
    "bundle": "bundle bundle_sources package_bundle package_bundle_info package_repository",
    "clouds": "node_records",
    "collectives": "collectives",
    "compare": "compare comparison_together hpu_compare_settings",
    "containers": "containers hpu_container_check hpu_container_runtime",
    "controller": "controller controller_objects",
    "cost": "cost hpu_energy_info hpu_power power",
    "efa": "efa_installation",
    "export": "model_export",
    "fabric": "fabric hpu_fabric hpu_fabric_info hpu_fabric_networks",
    "firmware": "firmware hpu_firmware",
    "first_day": "distribution_packages hpu_info hpu_preflight hpu_verify options_check preflight program_packages "
    "role_options verify",
    "flags": "flags hpu_flags hpu_flags_info",
    "follow": "training_job_follow training_job_history training_job_info",
    "host": "host hpu_host",
    "host_nics": "hpu_host_nics",
    "image": "image job_image training_image",
    "kernel_guard": "driver hpu_driver",
    "kubernetes": "kubernetes kubernetes_manifests",
    "migrating": "migration migration_plan",
    "model": "model model_registry",
    "monitoring": "cloudwatch_forwarder exporter hpu_exporter monitoring monitoring_server node_metrics_info "
    "service_certificate",
    "planning": "hpu_upgrade_plan",
    "profile": "training_profile",
    "qualify": "hpu_qualify hpu_qualify_info hpu_qualify_schedule node_qualification qualification_outcome qualify",
    "report": "report",
    "serving": "model_serving serving serving_change serving_measurement serving_proxy serving_usage",
    "sick_node": "node_quarantine node_quarantine_info quarantine quarantine_marks",
    "slurm": "node_drain slurm slurm_fragments slurm_node_info",
    "storage": "storage storage_measurement storage_mounts storage_rates",
    "support": "support support_bundle",
    "training": "built_in_trainer job_account training training_job training_job_launch training_venv venv",
    "tune": "tune tune_study tune_tool",
    "upgrade": "rollout upgrade",
}
_PAGES = {name: f"docs/{page}.md" for page, names in _ABOUT.items() for name in names.split()}


def page_about(role: str, module: str) -> str:
    """The page for a task of this role, or else of this module, by their full names; "" where neither is of ours."""
    for name in (role.replace(f"{_COLLECTION}gaudi_", _COLLECTION, 1), module):
        if name.startswith(_COLLECTION) and name.removeprefix(_COLLECTION) in _PAGES:
            return _PAGES[name.removeprefix(_COLLECTION)]
    return ""


def see_also(page: str) -> str:
    """The page as a person without a checkout finds it, too; "" for none."""
    return f"{page} in {ADDRESS}" if page else ""
