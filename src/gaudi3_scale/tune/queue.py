# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which trials of a study count, which are lost with their node, and which are made once more."""

from __future__ import annotations

from typing import Any, Collection, Mapping, Sequence

import optuna
from optuna.trial import FrozenTrial, TrialState

SKIPPED = "skipped"
LOST = "lost"
MADE_AGAIN = "made_again"
ATTEMPT = "attempt"
# A trial that broke is made once more, since it may be its node that is broken; the second time it is the trial.
MOST_ATTEMPTS = 2
SKIPPED_FOR_EACH = 2


def outcome_of(trial: FrozenTrial) -> str:
    """What came of a trial that is over; one that went away with its node told nothing."""
    return str(trial.user_attrs.get("outcome") or LOST)


def counted(trials: Sequence[FrozenTrial]) -> int:
    """The trials that used up one of the study's: not those that were lost with their node, those that were never run,
    and those that are made again."""
    return sum(
        trial.state.is_finished() and outcome_of(trial) not in (LOST, SKIPPED) and not trial.user_attrs.get(MADE_AGAIN)
        for trial in trials
    )


def running_on(trials: Sequence[FrozenTrial], nodes: Collection[str]) -> list[FrozenTrial]:
    return [trial for trial in trials if trial.state == TrialState.RUNNING and trial.user_attrs.get("node") in nodes]


def too_many_skipped(trials: Sequence[FrozenTrial], wanted: int) -> bool:
    """Whether the space holds hardly anything that fits: such a study would look for ever."""
    skipped: int = sum(trial.user_attrs.get("outcome") == SKIPPED for trial in trials)
    return skipped > SKIPPED_FOR_EACH * max(wanted, 10)


def left_by(study: optuna.Study, nodes: Collection[str]) -> list[FrozenTrial]:
    """The trials that still run, by the study, on nodes of which is known that they run them no longer."""
    return running_on(study.get_trials(deepcopy=False), nodes)


def give_back(study: optuna.Study, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """End these trials without an outcome and put their values back into the queue.

    Returns those that no other node was first to give back.
    """
    given = []
    for trial in trials:
        try:
            study.tell(trial.number, state=TrialState.FAIL)
        except ValueError:
            continue
        make_again(study, trial.number, trial.params, trial.user_attrs, lost=True)
        given.append(trial)
    return given


def may_be_made_again(attributes: Mapping[str, Any]) -> bool:
    attempt: int = attributes.get(ATTEMPT, 1)
    return attempt < MOST_ATTEMPTS


def make_again(
    study: optuna.Study,
    number: int,
    params: Mapping[str, Any],
    attributes: Mapping[str, Any],
    *,
    lost: bool = False,
) -> None:
    """Put the values of a trial back into the queue; one that was ``lost`` has not been tried."""
    attempt = attributes.get(ATTEMPT, 1) + (0 if lost else 1)
    study.enqueue_trial(dict(params), user_attrs={ATTEMPT: attempt, "again_of": number})
