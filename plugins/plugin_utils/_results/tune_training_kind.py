# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The report of a tuning study: what its node says that was found, as far as it can be true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.study import Study, study_from
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_answer import study_report

OPTIONS = ("title", "columns", "rows", "notes", "sections", "data")


def tune_training_kind(asked: Asked) -> Made:
    """``given``: the ``study``'s values, ``fixed`` variables of a launch that were not tuned, the ``keeper``, its
    ``report`` as JSON, and the ``failure`` of following it, else empty; raises GaudiError for what is no report."""
    given, study = asked.given, study_from(asked.given["study"])
    answer = "gaudi3_scale.tune report"
    found = taken(given["keeper"], answer, study_report(study, given["fixed"]), given["report"])
    best, failure = found["data"]["best"], given.get("failure") or ""
    sick = set(found["sick"])
    return Made(
        {
            **{name: found[name] for name in OPTIONS},
            "files": [_best_file(study, best, found["variables"])] if best else [],
        },
        {
            "nodes": {host: FAILED if host in sick else "ok" for host in asked.hosts},
            "ok": not failure and bool(best),
            "numbers": {"trials": found["data"]["done"], "best_trial": best["trial"] if best else None},
        },
        refusal=failure or ("" if best else next(iter(found["notes"]), f"Study {study.name} has no best trial.")),
    )


def _best_file(study: Study, best: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": f"tune-{study.name}-best.yml",
        "label": "The best trial, for launch_training.yml with -e @FILE",
        "heading": f"Trial {best['trial']} of study {study.name}, the best by {study.objective}.\n"
        "ansible-playbook playbooks/launch_training.yml -e @this_file\n",
        "variables": variables,
        # Its environment may have a secret in it.
        "mode": "0600",
    }


KIND = Kind((), tune_training_kind)
