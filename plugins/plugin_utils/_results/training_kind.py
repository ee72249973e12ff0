# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The report of a training job: the end of a launch, and what ``show_training.yml`` shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import mapping_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import job_story
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import (
    ABSENT,
    OUT_OF_SIGHT,
    RUNNING,
    SUCCEEDED,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import INDENT
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import without_options
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.unknown_job import unknown_job
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.first_error import first_error
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report

SHOWN_OUT_OF_SIGHT = "unreachable"
# In a check; and what of a launch its table has.
WOULD_START, LAUNCHED = "would be started", ("engine", "file")
NAME = "gaudi_training_name"
INFO, HISTORY = "__gaudi_training_info", "__gaudi_training_history"


def training_kind(asked: Asked) -> Made:
    """``given``: the ``job``'s name, nodes ``left_out`` and why, the ``release``, the ``failure`` of following it, why
    the job is ``out_of_sight``, and whether it ``has_to_be_known``; raises GaudiError where it has to and no host
    knows it."""
    given, infos = asked.given, {host: mapping_of(info) for host, info in asked.results(INFO).items()}
    states = {host: infos.get(host, {}).get("state") for host in asked.hosts}
    if given.get("has_to_be_known") and set(states.values()) <= {ABSENT, None}:
        raise GaudiError(_unknown(str(given["job"]), infos, asked))
    if asked.check_mode and given.get("would_start"):
        return _would_start(asked, mapping_of(given["would_start"]))
    leader, left_out = leader_of(asked.hosts), mapping_of(given.get("left_out"))
    report = training_report(list(asked.hosts.values()), given.get("release") or None, leader, left_out)
    failure, unseen, known = given.get("failure") or "", given.get("out_of_sight") or "", infos.get(leader, {})
    if unseen:
        states = dict.fromkeys(asked.hosts, OUT_OF_SIGHT)
        rows = [{**row, "state": SHOWN_OUT_OF_SIGHT} for row in report["rows"]]
        report = {**report, "rows": rows, "data": {**report["data"], "state": OUT_OF_SIGHT}}
    state = report["data"]["state"]
    error = first_error(infos, leader)
    story = [line for line in job_story(known, left_out) if line not in error]
    notes = [*([unseen] if unseen else []), *error, *story, *report["notes"]]
    return Made(
        {**report, "title": f"Job {given['job']}: {SHOWN_OUT_OF_SIGHT if unseen else state}", "notes": notes},
        {
            "nodes": {host: state or "unreachable" for host, state in states.items()},
            "good": [SUCCEEDED, RUNNING],
            "unclear": bool(unseen),
            "ok": not failure and (asked.check_mode or state in (SUCCEEDED, RUNNING)),
            "numbers": {
                "last_step": mapping_of(known.get("last_step")).get("step"),
                "last_loss": known.get("last_loss"),
            },
            "words": {"name": given["job"]},
        },
        refusal=_in_brief(failure),
    )


def _in_brief(failure: str) -> str:
    """What failed and where its log is: the lines between are on the screen, with the job."""
    first, *more = (line.removeprefix(INDENT) for line in failure.split("\n"))
    return " ".join([f"{first}." if more and not first.endswith(".") else first, *more[-1:]])


def _unknown(job: str, infos: Mapping[str, Mapping[str, Any]], asked: Asked) -> str:
    """Why there is nothing to show: no host knows the job, or none has answered."""
    return unknown_job(job, {host: infos.get(host, {}) for host in asked.hosts}, NAME) or asked.why_no_result(
        {}, f"{NAME} {job}: none of gaudi_training_hosts responded ({', '.join(asked.hosts)})."
    )


def _would_start(asked: Asked, launches: Mapping[str, Any]) -> Made:
    """Of a check of a launch: no node has anything to tell of a job that nobody has started."""
    job, command = asked.given["job"], asked.given.get("command")
    rows = [
        {"node": host, "state": WOULD_START, **{name: str(mapping_of(launch).get(name) or "-") for name in LAUNCHED}}
        for host, launch in launches.items()
    ]
    argv = without_options([str(word) for word in command]) if isinstance(command, (list, tuple)) else []
    words = f"each rank would run {shlex.join(argv)}" if argv else ""
    return Made(
        {
            "title": f"Job {job}: {WOULD_START} on {len(rows)} host(s); check mode, nothing was started",
            "columns": ["node", "state", *LAUNCHED],
            "rows": rows,
            "notes": [*filter(None, [words]), "the task before shows each host's program, variables and unit"],
            "data": {"state": ABSENT, "would_start": list(launches)},
        },
        {
            "nodes": dict.fromkeys(launches, WOULD_START),
            "good": [WOULD_START],
            "ok": True,
            "numbers": {},
            "words": {"name": job},
        },
    )


def leader_of(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """The node of rank 0, which may have moved while the job ran; a node that was lost does not know of it."""
    known = [mapping_of(mapping_of(host.get(INFO)).get("supervision")) for host in hosts.values()]
    newest = max(known, key=_generation, default={})
    leader = newest.get("leader")
    return leader if isinstance(leader, str) and leader in hosts else next(iter(hosts), "")


def _generation(supervision: Mapping[str, Any]) -> int:
    generation = supervision.get("generation")
    return generation if isinstance(generation, int) else -1


KIND = Kind((INFO, HISTORY), training_kind)
