# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The options that several roles or plays read: declared here once, and checked by whichever role begins; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.common.validation import check_type_bool, check_type_dict, check_type_int, check_type_list

SHARED: Mapping[str, Mapping[str, Any]] = {
    "gaudi_allow_expired_bundle": {
        "description": "Whether nodes may install from a bundle whose signature has expired.",
        "type": "bool",
        "default": False,
    },
    "gaudi_allow_older_bundle": {
        "description": "Whether nodes may install from a bundle that is older than one they have used.",
        "type": "bool",
        "default": False,
    },
    "gaudi_allow_reboot": {
        "description": "Whether nodes may be rebooted if a setting or firmware needs it.",
        "type": "bool",
        "default": False,
    },
    "gaudi_allow_unsupported_os": {
        "description": "Whether a release may be installed on an operating system that it does not support.",
        "type": "bool",
        "default": False,
    },
    "gaudi_cards_per_node": {
        "description": "Number of cards per node. It may differ from host to host.",
        "type": "int",
        "default": 8,
    },
    "gaudi_device": {
        "description": "Device for tests and jobs - hpu, cuda or cpu.",
        "type": "str",
        "default": "hpu",
    },
    "gaudi_drain_command": {
        "description": "Command to drain a node (drain is commands), one word per item, with {node} and {reason}.",
        "type": "list",
        "default": [],
    },
    "gaudi_drain_host": {
        "description": "Host on which the scheduler's commands run. If not set, each node.",
        "type": "str",
    },
    "gaudi_drain_node": {
        "description": "Name of the node in the scheduler. If not set, its inventory name.",
        "type": "str",
    },
    "gaudi_drain_query_command": {
        "description": "Command to print the reason of a drain (drain is commands), or nothing if there is none.",
        "type": "list",
        "default": [],
    },
    "gaudi_drain_resume_command": {
        "description": "Command to resume a node (drain is commands), as gaudi_drain_command.",
        "type": "list",
        "default": [],
    },
    "gaudi_drain_wait": {
        "description": "Seconds for running jobs to end after their node was drained.",
        "type": "int",
        "default": 3600,
    },
    "gaudi_hosts": {
        "description": "Inventory group or pattern of the hosts.",
        "type": "str",
        "default": "gaudi",
    },
    "gaudi_lock_timeout": {
        "description": "Seconds to wait for another package manager that runs on the node.",
        "type": "int",
        "default": 300,
    },
    "gaudi_max_fail_percentage": {
        "description": "The run ends at a layer in which more than this percentage of the nodes have failed.",
        "type": "int",
        "default": 100,
    },
    "gaudi_packages_url": {
        "description": "Common URL prefix of the vendor's package repositories, or of a mirror.",
        "type": "str",
        "default": "https://vault.habana.ai/artifactory",
    },
    "gaudi_plain_http_hosts": {
        "description": "Hosts from which packages may be downloaded over plain http.",
        "type": "list",
        "default": [],
    },
    "gaudi_proxy": {
        "description": "Environment of the tasks, such as http_proxy, https_proxy and no_proxy.",
        "type": "dict",
        "default": {},
    },
    "gaudi_rack": {
        "description": "Rack of a host, for cabling plans and for pairs across racks.",
        "type": "str",
    },
    "gaudi_ranks_timeout": {
        "description": "Seconds for the ranks of a test to start, and the same again to end once all run.",
        "type": "int",
        "default": 600,
    },
    "gaudi_release": {
        "description": "Release of the Gaudi software, with or without its build, such as 1.24.1 or 1.24.1-482.",
        "type": "str",
        "default": "1.24.1",
    },
    "gaudi_release_overrides": {
        "description": "Rows that replace or add releases in the release table, from a version to its fields.",
        "type": "dict",
        "default": {},
    },
    "gaudi_replaced_rows_limit": {
        "description": "Maximum replaced HBM rows per card, 0 for any. HLML lists 32; no limit is published.",
        "type": "int",
        "default": 32,
    },
    "gaudi_report_target": {
        "description": "Where reports are stored - a directory on the controller, or s3://BUCKET/PREFIX.",
        "type": "str",
        "default": "gaudi3_scale_reports",
    },
    "gaudi_serial": {
        "description": "Number or percentage (such as 25%) of the nodes to change at the same time. Empty: all.",
        "type": "str",
    },
    "gaudi_site_variables": {
        "description": "Names of the site's own variables that begin with gaudi_.",
        "type": "list",
        "default": [],
    },
    "gaudi_test_processes_per_node": {
        "description": "Ranks per node for tests. If not set, one per card.",
        "type": "int",
    },
    "gaudi_test_user": {
        "description": "Account of the ranks of the all-reduce and of a qualification. If not set, gaudi_venv_user.",
        "type": "str",
    },
    "gaudi_watching_hosts": {
        "description": "Inventory group or pattern of the machines that monitor the nodes.",
        "type": "str",
        "default": "monitoring",
    },
}
_MEANT: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "bool": ("true or false", check_type_bool),
    "dict": ("a mapping", check_type_dict),
    "int": ("a whole number", check_type_int),
    "list": ("a list", check_type_list),
}


def values_refusal(host: str, variables: Mapping[str, Any]) -> str:
    """A sentence for each shared option whose value is of another type; a template is its module's to check."""
    said = [_refused(host, name, variables[name]) for name in sorted(SHARED) if name in variables]
    return " ".join(filter(None, said))


def _refused(host: str, name: str, value: Any) -> str:
    if isinstance(value, str) and "{{" in value:
        return ""
    kind = SHARED[name]["type"]
    if kind == "str":
        is_text = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        return "" if is_text else f"{name} of {host} is {value!a:.80}; give a text."
    meant, check = _MEANT[kind]
    try:
        check(value)
    except (TypeError, ValueError):
        return f"{name} of {host} is {value!a:.80}; give {meant}."
    return ""
