# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Whether the prices of a training can be meant."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.platforms import before_from, platforms_from
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import prices_from
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.day_log import KEPT_DAYS
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import NAME
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import NAME as SERVING
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.pdf import require_pdf

# As `options_check` takes them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "job": {"type": "str", "default": ""},
    "serving": {"type": "str", "default": ""},
    "hours": {"type": "float", "default": 24.0},
    "currency": {"type": "str", "required": True},
    "node_hour": {"type": "raw"},
    "capital": {"type": "dict", "default": {}},
    "kwh": {"type": "raw"},
    "pue": {"type": "raw"},
    "overhead_watts": {"type": "raw"},
    "energy": {"type": "bool", "default": True},
    "before": {"type": "dict", "default": {}},
    "platforms": {"type": "list", "elements": "dict", "default": []},
    "pdf": {"type": "bool", "default": False},
}


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, and ``now``, at which a job that runs is looked at; raises GaudiError for the first mistake."""
    try:
        _refuse(given)
    except GaudiError as refused:
        # The core names its options as the role does, less the role's name.
        raise GaudiError(f"gaudi_cost_{refused}") from refused
    return {**given, "now": time.time()}


def _refuse(given: Mapping[str, Any]) -> None:
    if given["serving"]:
        _refuse_serving(given)
    elif not NAME.fullmatch(given["job"]):
        raise GaudiError(f"job is {given['job']!r:.80}; give the name that the job was launched with.")
    prices = prices_from(given)
    platforms_from(given["platforms"], prices.currency)
    before_from(given["before"])
    if given["pdf"]:
        require_pdf()


def _refuse_serving(given: Mapping[str, Any]) -> None:
    if given["job"]:
        raise GaudiError(f"job is {given['job']!r:.80}, and gaudi_cost_serving is given too; give one of them.")
    if not SERVING.fullmatch(given["serving"]):
        raise GaudiError(
            f"serving is {given['serving']!r:.80}; give the name of an instance of gaudi_serving_instances."
        )
    if not 0 < given["hours"] <= KEPT_DAYS * 24:
        raise GaudiError(
            f"hours is {given['hours']:g}; give a number above 0, up to the {KEPT_DAYS * 24} that are kept."
        )
    for name in ("before", "platforms"):
        if given[name]:
            raise GaudiError(f"{name} is only for gaudi_cost_job; remove it, or gaudi_cost_serving.")
