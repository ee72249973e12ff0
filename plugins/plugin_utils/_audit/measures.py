# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One function for each thing that an audit measures: facts in, what was measured out, None where nothing was; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import find_flag, other_program
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import HEALTHY, UNHEALTHY
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.verdicts import Measured, Unknown

_LAZY, _CACHE = "PT_HPU_LAZY_MODE", "PT_HPU_RECIPE_CACHE_CONFIG"


@dataclass(frozen=True)
class Facts:
    """``nodes``: what each node answered; ``job``: of the node that has its lines; ``reports``: what was kept, by name.

    ``node`` is the one that is asked about, for what is asked of each. Life cycles are judged as of ``today``.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    job: Mapping[str, Any] = field(default_factory=dict)
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    node: str = ""
    today: date | None = None

    def of_node(self, part: str) -> Mapping[str, Any]:
        found = self.nodes.get(self.node, {}).get(part)
        return found if isinstance(found, Mapping) else {}

    def of_job(self, part: str) -> Mapping[str, Any]:
        found = self.job.get(part)
        return found if isinstance(found, Mapping) else {}


# Unknown has a reason of its own; None has the item's.
Measure = Callable[[Facts], "Measured | Unknown | None"]


def start(name: str, is_right: Callable[[Any], bool]) -> Measure:
    """Of the line with which a job began."""

    def measure(facts: Facts) -> Measured | None:
        value = facts.of_job("start").get(name)
        return None if value is None else Measured(is_right(value), f"{name} is {value} in the job's first line")

    return measure


def share(part: str) -> Measure:
    """Of a step's time."""

    def measure(facts: Facts) -> Measured | None:
        seconds = facts.of_job("step").get("seconds")
        seconds = seconds if isinstance(seconds, Mapping) else {}
        whole, spent = _real(seconds.get("step")), _real(seconds.get(part))
        if not whole or spent is None:
            return None
        return Measured(spent / whole, f"{rounded(spent)} s of {rounded(whole)} s a step")

    return measure


def start_number(name: str) -> Measure:
    return _number(lambda facts: facts.of_job("start").get(name), f"{name} in the job's first line")


def of_step(name: str) -> Measure:
    return _number(lambda facts: facts.of_job("step").get(name), f"{name} of the job's last step")


def of_system(name: str) -> Measure:
    return _number(lambda facts: facts.of_node("system").get(name), f"{name} over half a second")


def of_checkpoint(name: str) -> Measure:
    return _number(lambda facts: facts.of_job("checkpoint").get(name), f"{name} of the job's last checkpoint")


def validation_loss(facts: Facts) -> Measured | Unknown | None:
    return _number(lambda one: one.of_job("end").get("validation_loss"), "validation_loss at the end")(facts)


def compiled(facts: Facts) -> Measured | None:
    """By torch.compile, or by the bridge's lazy mode, which compiles what it records."""
    begun = facts.of_job("start")
    flags = begun.get("flags") if isinstance(begun.get("flags"), Mapping) else {}
    if begun.get("compiled") is None and _LAZY not in (flags or {}):
        return None
    lazy = (flags or {}).get(_LAZY) == "1"
    said = "compiled by torch.compile" if begun.get("compiled") else f"neither compiled nor in lazy mode ({_LAZY})"
    return Measured(bool(begun.get("compiled")) or lazy, said)


def real_flags(facts: Facts) -> Measured | None:
    flags = facts.of_job("start").get("flags")
    if not isinstance(flags, Mapping):
        return None
    wrong = sorted(name for name in map(str, flags) if not (find_flag(name) or other_program(name)))
    return Measured(not wrong, f"not real: {', '.join(wrong)}" if wrong else f"{len(flags)} flags, all in the catalog")


def fits(facts: Facts) -> Measured | None:
    """It has checkpointing, or trains without."""
    begun, step = facts.of_job("start"), facts.of_job("step")
    if "checkpointing" not in begun or not step:
        return None
    if begun["checkpointing"]:
        return Measured(True, "checkpointing is on")
    return Measured(
        facts.job.get("state") != "failed", f"checkpointing is off, and the job is {facts.job.get('state')}"
    )


def utilization(facts: Facts) -> Measured | None:
    """The least of all nodes' means, as their supervisors saw them under the job."""
    found = {}
    for node, answer in facts.nodes.items():
        busy = _real(((answer.get("job") or {}).get("usage") or {}).get("utilization"))
        if busy is not None:
            found[node] = busy / 100
    if not found:
        return None
    least = min(found, key=lambda node: found[node])
    return Measured(found[least], f"{least}, the least of {len(found)} nodes, under the job")


def gradient_norm(facts: Facts) -> Measured | None:
    value = facts.of_job("step").get("gradient_norm")
    if value is None:
        return None
    return Measured(_real(value) is not None, f"gradient_norm is {value}")


def automatic_checkpoints(facts: Facts) -> Measured | None:
    every = _real(facts.of_job("start").get("checkpoint_every"))
    if facts.of_job("checkpoint"):
        return Measured(True, "the job has written one")
    return None if every is None else Measured(every > 0, f"checkpoint_every is {every:g}")


def step_parts(facts: Facts) -> Measured | None:
    step = facts.of_job("step")
    if not step:
        return None
    seconds = step.get("seconds")
    known = [
        name for name, value in (seconds if isinstance(seconds, Mapping) else {}).items() if _real(value) is not None
    ]
    return Measured({"data", "forward", "backward"} <= {*known}, f"parts of a step: {', '.join(known) or 'none'}")


def recorded(facts: Facts) -> Measured | None:
    begun = facts.of_job("start")
    if not begun:
        return None
    found = [name for name in ("versions", "flags") if begun.get(name) is not None]
    return Measured(len(found) == 2, f"the job's first line has {' and '.join(found) or 'neither versions nor flags'}")


def watched(facts: Facts) -> Measured | None:
    """Steps, and what the job used of each node."""
    if not facts.job:
        return None
    seen = [node for node, answer in facts.nodes.items() if ((answer.get("job") or {}).get("usage") or {}).get("time")]
    return Measured(bool(seen and facts.of_job("step")), f"steps, and usage of {len(seen)} nodes")


def recipe_cache(facts: Facts) -> Measured | None:
    flags = facts.nodes.get(facts.node, {}).get("flags")
    if not isinstance(flags, Mapping):
        return None
    return Measured(_CACHE in flags, f"{_CACHE} is {'set' if _CACHE in flags else 'not set'}")


def qualified(facts: Facts) -> Measured | Unknown | None:
    found = facts.of_node("qualification")
    if "state" not in found:
        return None
    when = found.get("time", "an unknown time")
    if found["state"] not in (HEALTHY, UNHEALTHY):
        return Unknown(f"its qualification at {when} was inconclusive")
    return Measured(found["state"] == HEALTHY, f"{found['state']} at {when}")


def card_readings(facts: Facts) -> Measured | Unknown | None:
    """What has a known reason is shown, and no fault."""
    found = facts.of_node("cards")
    if not found.get("compared"):
        return None
    differing = [*found["unexplained"], *found["explained"]]
    if found["hlml_reason"] and not differing:
        return Unknown(str(found["hlml_reason"]))
    seen = "; ".join(differing) or f"the kernel, hl-smi and HLML agree about {found['compared']} cards"
    return Measured(not found["unexplained"], seen)


def failed_jobs(facts: Facts) -> Measured | None:
    jobs = facts.of_node("jobs")
    known, failed = _real(jobs.get("known")), _real(jobs.get("failed"))
    if not known or failed is None:
        return None
    return Measured(failed / known, f"{failed:g} of {known:g} jobs that this node knows")


def same_flags(facts: Facts) -> Measured | None:
    """With one node there is nothing to be the same."""
    known = {node: answer["flags"] for node, answer in facts.nodes.items() if isinstance(answer.get("flags"), Mapping)}
    if len(known) < 2:
        return None
    first = next(iter(known.values()))
    others = [node for node, flags in known.items() if flags != first]
    return Measured(not others, f"{', '.join(others)} differ" if others else f"the same on {len(known)} nodes")


def all_ok(report: Mapping[str, Any]) -> bool:
    """Of a table with a verdict a node."""
    rows = report.get("rows")
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(one, dict) and one.get("verdict") == "ok" for one in rows)
    )


def kept(
    report: str,
    is_right: Callable[[Mapping[str, Any]], bool] = bool,
    is_known: Callable[[Mapping[str, Any]], bool] = bool,
) -> Measure:
    """A report that a playbook left; by default that it is there. Not ``is_known``: it could not tell."""

    def measure(facts: Facts) -> Measured | Unknown | None:
        found = facts.reports.get(report)
        if not found:
            return None
        if not is_known(found):
            return Unknown(f"{report} was inconclusive: {_first_note(found)}")
        right = is_right(found)
        return Measured(right, f"{report}: {_shortened(found.get('title', '')) if right else _first_note(found)}")

    return measure


def _first_note(report: Mapping[str, Any]) -> str:
    notes = report.get("notes")
    return _shortened(notes[0] if isinstance(notes, list) and notes else report.get("title", ""))


def _shortened(text: object) -> str:
    return str(text)[:200].rstrip(".")


def _number(read: Callable[[Facts], Any], seen: str) -> Measure:
    def measure(facts: Facts) -> Measured | None:
        value = _real(read(facts))
        return None if value is None else Measured(value, seen)

    return measure


def _real(value: object) -> float | None:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_one and math.isfinite(value) else None  # type: ignore[arg-type]
