# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A comparison of settings on this node, one run at a time: what is known of it, or one run more."""

from __future__ import annotations

import math
import os
import statistics
from dataclasses import asdict, dataclass, field
from typing import Mapping, Sequence

from .._batch.probe.batch_probe import STATE_DIRECTORY, read_environment
from .._batch.probe.probe import check_imports
from .._batch.probe.sentences import NEIGHBOR
from .._batch.search import CRASH, HANG, OK, Trial
from .._batch.trial import run_trial
from .._batch.trial_cards import cards_for
from .._cards.device_access import check_device_access
from .._errors import GaudiError
from .._node.commands import Run as RunProgram
from .._node.commands import run_process
from .._node.job_user import environment_as
from .._node.kernel_tree import kernel_tree
from .._node.lock import exclusive
from .baseline import Baseline, changes, check_same
from .comparison import BASE, Comparison, check
from .flags import FlagTarget, Said, child_environment, judge_settings
from .log import comparison_key, described, log_path, place_fields, read_runs, write_runs
from .plan import Run, next_run
from .sentences import broken_base, neighbors
from .verdict import measured, verdicts

# The probe's: both measure, and want the card for themselves.
_LOCK = "batch probe"
# The role's variable with the runs' own variables.
VARIABLE = "gaudi_compare_environment"


@dataclass(frozen=True)
class Node:
    """Where the runs are made, and as whom (None: as the caller). ``timeout`` is seconds a run."""

    venv: str
    timeout: float
    environment_files: tuple[str, ...] = ()
    state_directory: str = STATE_DIRECTORY
    kernel_root: str = field(default_factory=kernel_tree)
    lock_timeout: float = 900
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        return f"{self.venv}/bin/python"


@dataclass(frozen=True)
class _Asked:
    """The comparison with all that the node adds to it."""

    comparison: Comparison
    environment: Mapping[str, str]
    fields: Mapping[str, str]
    said: Mapping[str, Said]
    baseline: Baseline | None
    path: str

    @property
    def about(self) -> dict[str, object]:
        """What the file of runs says beside them."""
        return {"fields": dict(self.fields), "settings": described(self.comparison)}


def compare(
    comparison: Comparison,
    node: Node,
    target: FlagTarget,
    run: RunProgram,
    *,
    baseline: Baseline | None = None,
    refresh: bool = False,
    check_mode: bool = False,
) -> dict[str, object]:
    """The verdicts where all is measured; else one run, and the verdicts so far. No run in check mode.

    A comparison against a baseline is always measured anew; one that was interrupted goes on. Raises GaudiError for
    what cannot be meant, flags that are not real, a baseline of another comparison, and a base that does not run.
    """
    check(comparison)
    environment = {**read_environment(node.environment_files, node.user), **node.environment}
    fields = place_fields(comparison, node.venv, node.kernel_root)
    path = log_path(node.state_directory, comparison_key(comparison, fields, environment))
    notes = judge_settings(comparison, environment, target, run)
    asked = _Asked(comparison, environment, fields, notes, baseline, path)
    if baseline is not None:
        check_same(baseline, fields, described(comparison))
    runs, _damage = _known(asked, refresh)
    if not runs:
        check_imports(comparison.workload, node.venv, node.user, environment, VARIABLE, run_process)
    if check_mode or next_run(runs, comparison) is None:
        return _reported(asked, runs, cached=True)
    if not os.access(node.python, os.X_OK):
        raise GaudiError(f"{node.python} is missing; install the training stack first, or set its venv.")
    if node.user is not None:
        check_device_access(node.user, comparison.workload.device, node.kernel_root)
    with exclusive(_LOCK, node.lock_timeout, directory=node.state_directory):
        runs, damage = _known(asked, refresh)
        following = next_run(runs, comparison)
        if following is None:
            return _reported(asked, runs, cached=True)
        return _go_on(asked, node, runs, following, damage)


def _known(asked: _Asked, refresh: bool) -> tuple[list[Run], str]:
    """The runs that count, and the damage of the file that has them."""
    runs, damage = read_runs(asked.path)
    over = bool(runs) and next_run(runs, asked.comparison) is None
    return ([], damage) if refresh or (over and asked.baseline is not None) else (runs, damage)


def _go_on(
    asked: _Asked, node: Node, runs: Sequence[Run], following: tuple[int, str], damage: str
) -> dict[str, object]:
    number, name = following
    workload = asked.comparison.workload_of(name)
    environment = child_environment(asked.comparison, name, {**environment_as(node.user), **asked.environment})
    with cards_for(workload, environment, node.state_directory, run_process, node.kernel_root) as cards:
        trial = run_trial(
            workload,
            asked.comparison.of(name).batch_size or 1,
            python=node.python,
            timeout=node.timeout,
            environment={**environment, **cards},
            user=node.user,
        )
    made = _run(number, name, trial, asked.comparison.workload.steps)
    if name == BASE and made.outcome != OK:
        # It is not kept: the next attempt begins with the base again.
        culprit = runs[-1] if runs and runs[-1].outcome in (CRASH, HANG) else None
        sentence = broken_base(made, culprit, asked.comparison.base.batch_size or 1, node.timeout)
        raise GaudiError(sentence, runs=[asdict(run) for run in runs])
    all_runs = [*runs, made]
    backup = write_runs(asked.path, all_runs, asked.about, damaged=bool(damage))
    remarks = [f"{asked.path} is damaged ({damage}); it was moved to {backup}."] if damage else []
    reported = _reported(asked, all_runs, cached=False)
    return {**reported, "remarks": [*remarks, *neighbors(all_runs)]}


def _run(number: int, name: str, trial: Trial, steps: int) -> Run:
    """A trial may make more steps than it was asked for; only as many count, so that every run has the same."""
    seconds, losses = trial.seconds_of_steps[:steps], trial.losses[:steps]
    others = trial.used_by_others_bytes or 0
    return Run(
        number,
        name,
        trial.outcome,
        statistics.median(seconds) if seconds else trial.step_seconds,
        trial.peak_memory_bytes,
        statistics.fmean(losses) if losses else None,
        trial.message,
        others if others and others >= NEIGHBOR * (trial.limit_bytes or 0) else None,
    )


def _reported(asked: _Asked, runs: Sequence[Run], cached: bool) -> dict[str, object]:
    comparison, baseline = asked.comparison, asked.baseline
    following = next_run(runs, comparison)
    found = {name: measured(runs, name, comparison) for name in comparison.names}
    rates = {name: values["samples_per_second"] for name, values in found.items()}
    over = following is None
    since = changes(baseline, rates, comparison.confidence) if baseline and over else []
    return {
        "changed": not cached or not over,
        "cached": cached and over,
        "state_file": asked.path,
        "fields": dict(asked.fields),
        "settings": described(comparison),
        "rates": rates,
        "base": {name: _median(values) for name, values in found[BASE].items()},
        "verdicts": [
            {**one.as_dict(setting), **asdict(asked.said[one.name])}
            for one, setting in zip(verdicts(runs, comparison), comparison.settings)
        ],
        "base_notes": asked.said[BASE].notes,
        "rounds": max((run.round for run in runs), default=0),
        "level": comparison.level,
        "confidence": comparison.confidence,
        "changes": [asdict(one) for one in since],
        "regressions": [one.sentence(baseline.file) for one in since if one.slower] if baseline else [],
        "next": None if following is None else {"round": following[0], "name": following[1]},
        "runs": [{**asdict(run), "loss": _finite(run.loss)} for run in runs],
        "remarks": neighbors(runs),
    }


def _median(values: Sequence[float]) -> float | None:
    finite = [value for value in values if math.isfinite(value)]
    return statistics.median(finite) if finite else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
