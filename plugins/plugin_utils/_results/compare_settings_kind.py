# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The report of ``compare_settings.yml``, with the files of what is kept and of a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_kept import (
    kept_changes,
    launch_variables,
    plain_variables,
    second_question,
    without_variable,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_report import comparison_report

COMPARED, TOGETHER = "gaudi_compare_result", "gaudi_compare_together_result"
# A variable of a file on the command line takes the place of the operator's own, so those go into it with what is kept.
OWN = (
    "gaudi_training_model",
    "gaudi_training_arguments",
    "gaudi_training_environment",
    "gaudi_flags_overrides",
    "gaudi_flags_environment",
    "gaudi_batch_workload_options",
)
OPTIONS = ("title", "columns", "rows", "intervals", "data")
SECTION = "All helpful settings combined, compared with the best single one (base)"


def compare_settings_kind(asked: Asked) -> Made:
    """``given``: the ``tolerance``, whether ``together`` was asked for, the ``workload`` and whether it is the
    ``built_in`` one, and paths of the operator's: ``kept_file``, and ``baseline`` where one is to be saved."""
    given, hosts = asked.given, list(asked.hosts)
    first, second = asked.results(COMPARED), asked.results(TOGETHER)
    found = comparison_report(first, hosts, float(given["tolerance"]))
    names, changes = kept_changes(first, second or None)
    answered = found["data"]["hosts"]
    reported = {
        **{name: found[name] for name in OPTIONS},
        "notes": [*found["notes"], f"kept: {' and '.join(names) or 'nothing'}"],
        "sections": [_section(second, hosts, given)] if given["together"] and second_question(first) else [],
        "files": [
            _kept_file(asked, names, changes, plain_variables(first)),
            *([_baseline(given["baseline"], answered)] if given["baseline"] else []),
        ],
    }
    return Made(
        # Of a comparison that was refused there is nothing to keep, and an earlier page stays.
        {**reported, "name": "compare_settings"} if answered else reported,
        {
            "nodes": {host: "ok" if host in answered else "failed" for host in hosts},
            "ok": not found["failures"] and not found["regressions"],
            "numbers": {"kept": len(names), "slower": len(found["regressions"])},
        },
        refusal="; ".join(found["failures"]) or _slower(found["regressions"], float(given["tolerance"])),
    )


def _section(results: Mapping[str, Any], hosts: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    found = comparison_report(results, hosts, float(given["tolerance"]))
    return {"title": SECTION, **{name: found[name] for name in ("columns", "rows", "notes")}}


def _kept_file(asked: Asked, names: Sequence[str], changes: Mapping[str, Any], plain: Sequence[str]) -> dict[str, Any]:
    given, nodes = asked.given, ", ".join(asked.hosts)
    own = {name: value for name, value in next(iter(asked.hosts.values()), {}).items() if name in OWN}
    lost = without_variable(changes, given["built_in"])
    heading = [
        f"Written by compare_settings.yml: {' and '.join(names) or 'nothing helps beyond noise'}",
        f"on {nodes} ({given['workload']}). For launch_training.yml or flags.yml, with -e @this_file.",
        *([f"{', '.join(lost)} cannot be passed to the trainer by a variable."] if lost else []),
    ]
    return {
        "name": "compare_settings.kept.yml",
        "heading": "".join(f"{line}\n" for line in heading),
        "variables": launch_variables(changes, plain, given["built_in"], own),
        "label": "Saved for launch_training.yml or flags.yml with -e @FILE",
        "path": given["kept_file"],
        "option": "gaudi_compare_kept_file",
        # The operator's own environment is in it, too.
        "mode": "0600",
        # What a person wrote there stays beside it.
        "backup": True,
    }


def _baseline(path: str, hosts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": "compare_settings.baseline.json",
        "content": {"hosts": hosts},
        "label": "Baseline",
        "path": path,
        "option": "gaudi_compare_baseline",
        "backup": True,
    }


def _slower(regressions: Sequence[str], tolerance: float) -> str:
    return f"Slower by more than {100 * tolerance:g} %: {'; '.join(regressions)}." if regressions else ""


KIND = Kind((COMPARED, TOGETHER, *OWN), compare_settings_kind)
