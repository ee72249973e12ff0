# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The best batch size of a workload on this node, a trial at a time: remembered, or one step nearer."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Mapping, Sequence, Union

from ..._cards.device_access import check_device_access
from ..._errors import GaudiError
from ..._node.commands import run_process
from ..._node.job_user import environment_as
from ..._node.lock import exclusive
from ..bounds import Answer, Try
from ..choice import next_for
from ..estimate import estimate
from ..memory_model import Prior
from ..one_rank import one_rank, prior_of_one_rank
from ..search import OK, OUT_OF_MEMORY, WORKLOAD_ERROR, Trial
from ..trial import run_trial
from ..trial_cards import cards_for
from .key import probe_fields, probe_key
from .log import ProbeLog, log_path, read_log, write_log
from .probe import STATE_DIRECTORY, Probe, check, check_imports, parse_size, read_environment
from .sentences import broken_trial, damaged_log, neighbors

# The role's variable with the trials' own variables.
VARIABLE = "gaudi_batch_environment"
__all__ = ["STATE_DIRECTORY", "Probe", "decide", "parse_size", "probe", "probe_step", "read_environment"]


@dataclass(frozen=True)
class _Place:
    """Where the trials of this probe are kept, and what they depend on."""

    path: str
    key: str
    fields: Mapping[str, str]

    def reported(self, trials: Sequence[Trial]) -> dict[str, object]:
        """What every result has."""
        kept = [asdict(trial) for trial in trials]
        return {"key": self.key, "fields": dict(self.fields), "cache_file": self.path, "trials": kept}


def probe(wanted: Probe, *, refresh: bool = False, check_mode: bool = False) -> dict[str, object]:
    """All steps until there is an answer; ``cached`` where none made a trial. Raises as ``probe_step`` does."""
    result = probe_step(wanted, refresh=refresh, check_mode=check_mode)
    while result["batch_size"] is None and not check_mode:
        result = probe_step(wanted)
    return result


def probe_step(wanted: Probe, *, refresh: bool = False, check_mode: bool = False) -> dict[str, Any]:
    """The answer where the node knows it; else one trial, and the answer or the next size. No trial in check mode.

    Raises GaudiError for bounds that hold no size, a missing venv, and whatever ends the search.
    """
    check(wanted)
    environment = _set_for_the_workload(wanted)
    fields = probe_fields(wanted.workload, environment, wanted.venv, wanted.kernel_root)
    key = probe_key(fields)
    place = _Place(log_path(wanted.state_directory, key), key, fields)
    step, log = _known(wanted, place, refresh)
    if isinstance(step, Answer):
        return _answered(wanted, place, log, step, tried=False, check_mode=check_mode)
    if check_mode:
        _check_imports(wanted, place, log, environment)
        return _open(wanted, place, log, step)
    if not os.access(wanted.python, os.X_OK):
        raise GaudiError(
            f"{wanted.python} is missing; install the training stack first, or set its venv.",
            **place.reported(log.trials),
        )
    if wanted.user is not None:
        check_device_access(wanted.user, wanted.workload.device, wanted.kernel_root)
    _check_imports(wanted, place, log, environment)
    # A run that was cut off leaves its trial on the card until it ends; what it finds is read then.
    with exclusive("batch probe", wanted.lock_timeout, directory=wanted.state_directory):
        step, log = _known(wanted, place, refresh)
        if isinstance(step, Try):
            return _try(wanted, place, log, step, {**environment_as(wanted.user), **environment})
    return _answered(wanted, place, log, step, tried=False, check_mode=False)


def _set_for_the_workload(wanted: Probe) -> dict[str, str]:
    """The variables that count for the key: not those of whoever runs the probe."""
    return {**read_environment(wanted.environment_files, wanted.user), **wanted.environment}


def _check_imports(wanted: Probe, place: _Place, log: ProbeLog, environment: Mapping[str, str]) -> None:
    """On each node that is only looked at as well: what one lacks is known before another one is searched on."""
    if log.trials:
        return
    try:
        check_imports(wanted.workload, wanted.venv, wanted.user, environment, VARIABLE, run_process)
    except GaudiError as error:
        raise GaudiError(str(error), **place.reported(())) from None


def _known(wanted: Probe, place: _Place, refresh: bool) -> tuple[Union[Try, Answer], ProbeLog]:
    """What the trials that are kept say. Where they say that there is no answer, they are made again."""
    log = read_log(place.path)
    if refresh:
        log = log.forgotten()
    try:
        return decide(wanted, log.trials, log.prior), log
    except GaudiError:
        log = log.forgotten()
        return decide(wanted, log.trials), log


def decide(wanted: Probe, trials: Sequence[Trial], prior: Prior | None = None) -> Union[Try, Answer]:
    """The next size, or the answer; raises GaudiError where there can be none."""
    size = wanted.verify
    if size is None or any(trial.outcome == OUT_OF_MEMORY and trial.batch_size <= size for trial in trials):
        return next_for(wanted.objective, trials, replace(wanted.bounds, prior=prior))
    ran = max((trial.batch_size for trial in trials if trial.outcome == OK), default=0)
    if ran < size:
        return Try(size, "the result of a node of the same kind")
    return Answer(size, False, None, "it ran here too" if ran == size else f"{ran} ran here")


def _try(wanted: Probe, place: _Place, log: ProbeLog, step: Try, environment: Mapping[str, str]) -> dict[str, object]:
    log, size = _with_estimate(wanted, log, step, environment)
    with cards_for(wanted.workload, environment, wanted.state_directory, run_process, wanted.kernel_root) as cards:
        trial = run_trial(
            wanted.workload,
            size,
            python=wanted.python,
            timeout=wanted.timeout,
            environment={**environment, **cards},
            user=wanted.user,
        )
    made = log.with_trial(trial)
    try:
        if trial.outcome not in (OK, OUT_OF_MEMORY):
            raise GaudiError(broken_trial(trial, log.trials, wanted.workload.function, wanted.timeout))
        following = decide(wanted, made.trials, made.prior)
    except GaudiError as error:
        if trial.outcome in (OK, OUT_OF_MEMORY, WORKLOAD_ERROR) and Path(place.path).exists():
            # It is the workload that has to change, and of its code the key knows nothing.
            _keep(place, log.forgotten())
        raise GaudiError(str(error), **{**place.reported(made.trials), **error.facts}) from None
    if isinstance(following, Answer):
        return _answered(wanted, place, made, following, tried=True, check_mode=False)
    backup = _keep(place, made)
    return _open(wanted, place, made, following, backup)


def _with_estimate(wanted: Probe, log: ProbeLog, step: Try, environment: Mapping[str, str]) -> tuple[ProbeLog, int]:
    """Before the first trial of a search, what a step takes by its tensors' sizes, and the size that follows of it."""
    if log.estimated or log.trials or wanted.verify is not None:
        return log, step.batch_size
    prior = _of_one_rank(wanted) or estimate(
        wanted.workload,
        python=wanted.python,
        environment=environment,
        user=wanted.user,
        memory=wanted.bounds.card_bytes,
    )
    return replace(log, prior=prior, estimated=True), decide(wanted, (), prior).batch_size


def _of_one_rank(wanted: Probe) -> Prior | None:
    """What a probe of one rank has left on this node, for a search with several."""
    alone = one_rank(wanted.workload)
    if alone is None:
        return None
    fields = probe_fields(alone, _set_for_the_workload(wanted), wanted.venv, wanted.kernel_root)
    return prior_of_one_rank(read_log(log_path(wanted.state_directory, probe_key(fields))).trials)


def _open(wanted: Probe, place: _Place, log: ProbeLog, step: Try, backup: str | None = None) -> dict[str, object]:
    """No answer yet: ``next`` is the size that will tell more."""
    before = log.answers.get(wanted.search)
    return {
        **place.reported(log.trials),
        "changed": True,
        "cached": False,
        "batch_size": None,
        "verified": False,
        "certified": False,
        "within": None,
        "why": "",
        "next": asdict(step),
        "global_batch": None,
        "remarks": _remarks(place, log, backup),
        "diff": _difference(place, before, "to be found by trials"),
    }


def _answered(
    wanted: Probe, place: _Place, log: ProbeLog, answer: Answer, *, tried: bool, check_mode: bool
) -> dict[str, object]:
    size, before = answer.batch_size, log.answers.get(wanted.search)
    # What a smaller size than before is verified for was known: the answer of this node is no other one.
    changed = before is None or (before != size and (tried or wanted.verify is None))
    backup = None
    if (changed or tried) and not check_mode:
        backup = _keep(place, log.with_answer(wanted.search, size))
    return {
        **place.reported(log.trials),
        "changed": changed,
        "cached": not tried,
        "batch_size": size,
        "verified": size == wanted.verify,
        "certified": answer.certified,
        "within": answer.within,
        "why": answer.why,
        "next": None,
        "global_batch": asdict(wanted.share(size)) if wanted.share else None,
        "remarks": _remarks(place, log, backup),
        "diff": _difference(place, before, str(size)) if changed else [],
    }


def _keep(place: _Place, log: ProbeLog) -> str | None:
    return write_log(place.path, log, {"key": place.key, "fields": dict(place.fields)})


def _remarks(place: _Place, log: ProbeLog, backup: str | None) -> list[str]:
    damage = [damaged_log(place.path, log.damage, backup)] if log.damage else []
    return damage + neighbors(log.trials)


def _difference(place: _Place, before: int | None, after: str) -> list[dict[str, str]]:
    """Ansible's ``diff`` of the answer."""
    was = "" if before is None else f"batch_size: {before}\n"
    header = {"before_header": place.path, "after_header": place.path}
    return [{**header, "before": was, "after": f"batch_size: {after}\n"}]
