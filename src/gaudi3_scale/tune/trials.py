# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trials that can be of a study. Other nodes wrote them, so what is left out is named."""

from __future__ import annotations

import optuna
from optuna.trial import FrozenTrial, TrialState

from gaudi3_scale.core._tune.study import Study
from gaudi3_scale.core._tune.values import OutsideError, values_of

MEASURED = ("tokens_per_second", "loss")
# Far beyond any rate; also infinity and what is no number are not below it.
LARGEST = float(1 << 60)
LONGEST_WHY = 200


def of_the_study(study: Study, found: optuna.Study) -> tuple[list[FrozenTrial], list[str]]:
    """The trials that ended and can be of this study, and a sentence for each of those that cannot."""
    trials, left_out = [], []
    for trial in found.get_trials(deepcopy=False):
        if not trial.state.is_finished():
            continue
        wrong = outside(study, trial)
        if wrong:
            node = short(ascii(trial.user_attrs.get("node")))
            left_out.append(f"Trial {trial.number}, by node {node}, is ignored: {wrong}; find out who wrote it.")
        else:
            trials.append(trial)
    return trials, left_out


def outside(study: Study, trial: FrozenTrial) -> str:
    """Why a trial cannot be of this study; empty where it can."""
    is_complete = trial.state == TrialState.COMPLETE
    try:
        values_of(study, trial.params, complete=is_complete)
    except OutsideError as error:
        return str(error)
    if is_complete and (trial.values is None or len(trial.values) != 1 or finite(trial.values[0]) is None):
        return "its value is not a finite number"
    measured = {name: trial.user_attrs.get(name) for name in MEASURED}
    wrong = next((name for name, value in measured.items() if not isinstance(value, (int, float, type(None)))), None)
    return f"its {wrong} is not a number" if wrong else ""


def finite(number: float | None) -> float | None:
    """JSON has no word for what is no number; of a loss that became none the outcome tells."""
    return number if number is not None and abs(number) < LARGEST else None


def short(text: str) -> str:
    """The whole of it is in the trial's log."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_WHY else f"{line[: LONGEST_WHY - 3]}..."
