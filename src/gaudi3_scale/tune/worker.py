# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One node's work on a study: take a trial, run it, tell what came of it, until the study has its trials."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Iterator, Mapping

import optuna
from optuna.trial import Trial, TrialState

from gaudi3_scale.core._batch.search import CRASH, HANG, OK
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._flags import recipe_cache
from gaudi3_scale.core._flags.recipe_cache import RECIPE_CACHE
from gaudi3_scale.core._tune.study import Study, trial_command
from gaudi3_scale.core._tune.values import values_of
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.tune.bound import ProbedBound
from gaudi3_scale.tune.child import PRUNED, Ended, Progress, run_child
from gaudi3_scale.tune.presence import DONE, GAVE_UP, Presence, Watch, nodes_of, working
from gaudi3_scale.tune.program import place_of
from gaudi3_scale.tune.queue import (
    MADE_AGAIN,
    SKIPPED,
    counted,
    give_back,
    left_by,
    make_again,
    may_be_made_again,
    outcome_of,
    running_on,
    too_many_skipped,
)
from gaudi3_scale.tune.sample import CannotFitError, Sample, refused_flags, sample
from gaudi3_scale.tune.storage import LOST

# A node on which so many trials in a row broke has something else to mend than a trial.
BROKEN_IN_A_ROW = 3
POLL_S = 2.0
# Other nodes need some time to start: the one that keeps the study lets them in, however soon it has its trials.
SETTLE_S = 30.0
BROKEN = (CRASH, HANG)


class Worker:
    """``directory`` is where its trials write, ``logs`` where the output of those that broke is kept."""

    def __init__(
        self, study: Study, optuna_study: optuna.Study, host: str, directory: Path, logs: Path, write: WriteLine
    ) -> None:
        self._study = study
        self._optuna = optuna_study
        self._host = host
        self._directory = directory
        self._logs = logs
        self._write = write
        self._bound = ProbedBound(study, write)
        self._watch = Watch()
        self._broken: list[str] = []
        self._said: set[int] = set()
        self._began = time.monotonic()

    def work(self) -> str:
        """Work until the study has its trials; returns why this node gave up, or nothing.

        What this node had begun before, in a run that was cut off, is given back first.
        """
        self._give_back_own()
        with Presence(self._optuna, self._host) as presence, self._giving_back_at_the_end():
            while not self._over():
                if len(self._broken) >= BROKEN_IN_A_ROW:
                    why = f"{len(self._broken)} trials in a row broke on {self._host}; the last: {self._broken[-1]}"
                    presence.end(GAVE_UP, why)
                    return why
                if self._is_free():
                    self._one(self._optuna.ask())
                else:
                    # A trial of another node may yet have to be made again.
                    time.sleep(POLL_S)
            presence.end(DONE)
        return ""

    def _give_back_own(self) -> None:
        give_back(self._optuna, left_by(self._optuna, {self._host}))

    @contextlib.contextmanager
    def _giving_back_at_the_end(self) -> Iterator[None]:
        try:
            yield
        finally:
            with contextlib.suppress(*LOST):
                self._give_back_own()

    def _is_free(self) -> bool:
        """Whether the study wants one more trial than those that are over or run."""
        trials, nodes = self._trials(), nodes_of(self._optuna)
        alive = working(nodes) - self._watch.silent(nodes)
        return counted(trials) + len(running_on(trials, alive)) < self._study.trials

    def wait_for_others(self) -> None:
        """Until no other node works on the study any more: whoever keeps the study may not leave before."""
        time.sleep(max(0.0, self._began + SETTLE_S - time.monotonic()))
        while True:
            nodes = nodes_of(self._optuna)
            silent = self._watch.silent(nodes)
            self._take_over(silent)
            if working(nodes) <= silent:
                return
            self._over()
            time.sleep(POLL_S)

    def _over(self) -> bool:
        """Whether the study has its trials; shows those that ended since, and takes over from nodes that are silent."""
        self._take_over(self._watch.silent(nodes_of(self._optuna)))
        trials = self._trials()
        for trial in trials:
            if trial.state.is_finished() and trial.number not in self._said:
                self._said.add(trial.number)
                self._write("trial", **_line(trial, self._study, counted(trials)))
        if too_many_skipped(trials, self._study.trials):
            raise GaudiError(
                f"{len(self._said)} trials were made and most could not fit; narrow gaudi_tune_space. "
                f"The last: {trials[-1].user_attrs.get('message')}"
            )
        return self.has_its_trials()

    def has_its_trials(self) -> bool:
        return counted(self._trials()) >= self._study.trials

    def _take_over(self, silent: set[str]) -> None:
        for trial in give_back(self._optuna, left_by(self._optuna, silent)):
            self._write("silent", node=trial.user_attrs.get("node"), trial_given_back=trial.number)

    def _trials(self) -> list[optuna.trial.FrozenTrial]:
        return self._optuna.get_trials(deepcopy=False)

    def _one(self, trial: Trial) -> None:
        trial.set_user_attr("node", self._host)
        try:
            values = sample(self._study, trial, self._trials(), self._bound)
            # Another node may have put it into the queue: Optuna takes any number that is fixed there, and raises for
            # what is no choice.
            values_of(self._study, trial.params)
        except (CannotFitError, ValueError) as error:
            self._tell(trial, Ended(SKIPPED, str(error)))
            return
        wrong = refused_flags(values.flags, sys.prefix)
        ended = Ended(SKIPPED, wrong) if wrong else self._run(trial, values)
        self._broken = [*self._broken, ended.message] if ended.outcome in BROKEN else []
        self._tell(trial, ended)

    def _run(self, trial: Trial, values: Sample) -> Ended:
        steps = self._study.trial_steps(values.params)
        directory = self._directory / str(trial.number)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)

        def cannot_win(window: int, value: float) -> bool:
            trial.report(value, window)
            return trial.should_prune()

        try:
            ended = run_child(
                child_argv(self._study, trial_command(self._study, values.params)),
                child_environment(os.environ, self._study, values.flags, directory),
                directory,
                place_of(directory),
                Progress(self._study.objective, steps),
                self._study.timeout,
                cannot_win,
            )
            if ended.outcome not in (OK, PRUNED):
                self._logs.mkdir(parents=True, exist_ok=True)
                shutil.copy(directory / "log", self._logs / f"trial-{trial.number}.log")
            return ended
        finally:
            # Checkpoints of a trial are nothing that anybody goes on from.
            shutil.rmtree(directory, ignore_errors=True)

    def _tell(self, trial: Trial, ended: Ended) -> None:
        """Where this node had gone silent, another one may have given the trial back meanwhile; then that counts."""
        again = ended.outcome in BROKEN and may_be_made_again(trial.user_attrs)
        reported = {
            MADE_AGAIN: again,
            "outcome": ended.outcome,
            "message": ended.message,
            "tokens_per_second": ended.tokens_per_second,
            "loss": ended.loss,
        }
        try:
            for name, value in reported.items():
                trial.set_user_attr(name, value)
        except optuna.exceptions.UpdateFinishedTrialError:
            return
        state = {OK: TrialState.COMPLETE, PRUNED: TrialState.PRUNED}.get(ended.outcome, TrialState.FAIL)
        values = ended.value if state == TrialState.COMPLETE else None
        self._optuna.tell(trial, values, state=state, skip_if_finished=True)
        if again:
            make_again(self._optuna, trial.number, trial.params, trial.user_attrs)


def child_argv(study: Study, command: list[str]) -> list[str]:
    """The trainer alone where it is one process; else torchrun, which takes $$ for $ in its words."""
    if study.built_in and study.processes == 1:
        return [sys.executable, *command]
    ranks = ["--standalone", "--nproc-per-node", str(study.processes)]
    words = [word.replace("$", "$$") for word in command]
    return [sys.executable, "-m", "torch.distributed.run", *ranks, *words]


def child_environment(
    environment: Mapping[str, str], study: Study, flags: Mapping[str, str], directory: Path
) -> dict[str, str]:
    """This process's environment with the trial's flags; a set of flags has compiled recipes of its own."""
    result = {**environment, **study.environment, **flags}
    if RECIPE_CACHE in result and flags and RECIPE_CACHE not in flags:
        digest = hashlib.sha256(json.dumps(flags, sort_keys=True).encode()).hexdigest()[:8]
        result[RECIPE_CACHE] = recipe_cache.of_job(result[RECIPE_CACHE], f"flags-{digest}")
    files = {"GAUDI3_SCALE_JOB_DIR": str(directory), "GAUDI3_SCALE_METRICS": str(directory / "metrics.jsonl")}
    return {**result, **files}


def _line(trial: optuna.trial.FrozenTrial, study: Study, done: int) -> dict[str, object]:
    """What the screen shows of a trial that ended."""
    attributes = trial.user_attrs
    outcome = outcome_of(trial)
    return {
        "number": trial.number,
        "outcome": outcome,
        "done": f"{done} of {study.trials}",
        study.objective: trial.value if trial.state == TrialState.COMPLETE else None,
        "node": attributes.get("node"),
        **{name: value for name, value in trial.params.items() if value is not None},
        "message": None if outcome in (OK, PRUNED) else str(attributes.get("message", ""))[:200] or None,
    }
