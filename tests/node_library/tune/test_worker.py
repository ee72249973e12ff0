# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One node's work on a study, with real child processes."""

from __future__ import annotations

import threading

import optuna
import pytest
from optuna.trial import TrialState

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._flags.recipe_cache import RECIPE_CACHE
from gaudi3_scale.tune import child as tune_child
from gaudi3_scale.tune import presence as tune_presence
from gaudi3_scale.tune import worker as tune_worker
from gaudi3_scale.tune.presence import nodes_of
from gaudi3_scale.tune.queue import counted
from gaudi3_scale.tune.worker import child_argv, child_environment
from studies import optuna_study, small_study, worker_of


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(tune_child, "POLL_S", 0.02)
    monkeypatch.setattr(tune_worker, "POLL_S", 0.05)


def outcomes(found):
    return [trial.user_attrs.get("outcome") for trial in found.trials]


def test_a_node_makes_all_trials_of_a_study(tmp_path):
    found = optuna_study()
    worker, shown = worker_of(small_study(), found, tmp_path)
    assert worker.work() == ""
    assert outcomes(found) == ["ok"] * 4
    assert all(trial.value == 100 * trial.params["batch_size"] for trial in found.trials)
    assert [line["number"] for line in shown] == [0, 1, 2, 3]
    assert nodes_of(found)["n1"]["state"] == "done"
    # Nothing of a trial is left on the node.
    assert list((tmp_path / "trials").iterdir()) == []


def test_a_loss_is_that_of_the_held_out_text(tmp_path):
    found = optuna_study("minimize")
    worker, _ = worker_of(small_study(objective="loss", trials=1), found, tmp_path)
    worker.work()
    assert found.best_value == 0.25


def test_two_nodes_share_the_trials_and_make_no_more_than_were_asked_for(tmp_path):
    storage = optuna.storages.InMemoryStorage()
    studies = [optuna.create_study(storage=storage, study_name="s", load_if_exists=True) for _ in range(2)]
    workers = [
        worker_of(small_study(trials=8), found, tmp_path / host, host)[0]
        for found, host in zip(studies, ("n1", "n2"), strict=True)
    ]
    threads = [threading.Thread(target=worker.work) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    trials = studies[0].trials
    # Both may see the last place free at the same time.
    assert counted(trials) in (8, 9)
    assert {trial.user_attrs["node"] for trial in trials} == {"n1", "n2"}


def test_what_ran_out_of_memory_bounds_the_trials_after_it(tmp_path):
    found = optuna_study()
    environment = {"TUNED_TRAINER": "out_of_memory_above_16"}
    worker, _ = worker_of(small_study(environment=environment, trials=12), found, tmp_path)
    worker.work()
    for setup in {trial.user_attrs["setup"] for trial in found.trials}:
        failed = None
        for trial in (trial for trial in found.trials if trial.user_attrs["setup"] == setup):
            assert failed is None or trial.params["batch_size"] < failed
            if trial.user_attrs["outcome"] == "out_of_memory":
                failed = trial.params["batch_size"]
    assert "out_of_memory" in outcomes(found)
    assert found.best_trial.params["batch_size"] <= 16


def test_a_node_on_which_every_trial_breaks_gives_up_and_keeps_the_logs(tmp_path):
    found = optuna_study()
    worker, _ = worker_of(small_study(environment={"TUNED_TRAINER": "crash"}, trials=10), found, tmp_path)
    why = worker.work()
    assert why.startswith("3 trials in a row broke on n1; the last: exit status 1")
    assert "the fan fell off" in (tmp_path / "logs" / "trial-0.log").read_text()
    assert nodes_of(found)["n1"] == {**nodes_of(found)["n1"], "state": "gave up", "why": why}
    # The values go back into the queue, for a node that works: once each.
    waiting = found.get_trials(states=(TrialState.WAITING,))
    assert [trial.user_attrs["again_of"] for trial in waiting]
    assert all(trial.user_attrs["attempt"] == 2 for trial in waiting)


def test_a_loss_that_is_no_number_ends_the_trial_and_blames_no_node(tmp_path):
    found = optuna_study("minimize")
    study = small_study(objective="loss", environment={"TUNED_TRAINER": "diverge"}, trials=4)
    worker, _ = worker_of(study, found, tmp_path)
    assert worker.work() == ""
    assert outcomes(found) == ["diverged"] * 4


def test_a_trial_that_takes_too_long_is_a_hang(tmp_path):
    found = optuna_study()
    study = small_study(environment={"TUNED_TRAINER": "slow"}, trials=1, timeout=1)
    worker, _ = worker_of(study, found, tmp_path)
    worker.work()
    assert outcomes(found)[0] == "hang"
    assert "timed out after 1 s" in found.trials[0].user_attrs["message"]


def test_a_trial_behind_the_others_is_ended(tmp_path):
    """One that would take 30 s a step, were it not ended after the first that can be compared."""
    found = optuna_study("minimize", pruner=optuna.pruners.ThresholdPruner(upper=1.0))
    study = small_study(objective="loss", trials=1, environment={"TUNED_TRAINER": "slow"}, steps=10)
    worker, _ = worker_of(study, found, tmp_path)
    worker.work()
    assert outcomes(found) == ["pruned"]
    assert found.trials[0].intermediate_values == {1: 5.0}


def test_a_run_that_was_cut_off_gives_its_trial_back(tmp_path):
    found = optuna_study()
    lost = found.ask()
    lost.set_user_attr("node", "n1")
    lost.suggest_int("batch_size", 8, 64, step=8)
    worker, _ = worker_of(small_study(trials=2), found, tmp_path)
    worker.work()
    assert found.trials[0].state == TrialState.FAIL
    again = found.trials[1]
    assert (again.user_attrs["again_of"], again.params["batch_size"]) == (0, lost.params["batch_size"])
    assert counted(found.trials) == 2


def test_the_trial_of_a_silent_node_is_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr(tune_presence, "GRACE_S", 0.2)
    found = optuna_study()
    found.set_user_attr("node:n2", {"state": "working", "why": "", "beat": 1.0})
    lost = found.ask()
    lost.set_user_attr("node", "n2")
    lost.suggest_int("batch_size", 8, 64, step=8)
    worker, shown = worker_of(small_study(trials=1), found, tmp_path)
    worker.work()
    assert {"kind": "silent", "node": "n2", "trial_given_back": 0} in shown
    assert found.trials[1].user_attrs["again_of"] == 0
    assert found.trials[1].user_attrs["outcome"] == "ok"


def test_a_space_in_which_nothing_fits_ends_with_a_sentence(tmp_path):
    found = optuna_study()
    worker, _ = worker_of(small_study(), found, tmp_path)
    worker._bound = lambda params, flags: 4
    with pytest.raises(
        GaudiError, match=r"most could not fit; narrow gaudi_tune_space.*batch size 8 is more than the 4"
    ):
        worker.work()
    assert set(outcomes(found)) == {"skipped"}
    assert nodes_of(found)["n1"]["state"] == "gave up"


def test_one_process_is_started_alone_and_more_by_torchrun():
    assert child_argv(small_study(), ["-m", "x"])[1:] == ["-m", "x"]
    many = child_argv(small_study(processes=8), ["-m", "x", "a$b"])
    assert many[1:3] == ["-m", "torch.distributed.run"]
    assert many[-5:] == ["--nproc-per-node", "8", "-m", "x", "a$$b"]


def test_a_set_of_flags_has_recipes_of_its_own(tmp_path):
    node = {RECIPE_CACHE: "/var/cache/recipes/tune-s,false,1024"}
    plain = child_environment(node, small_study(), {}, tmp_path)
    first = child_environment(node, small_study(), {"PT_HPU_X": "1"}, tmp_path)
    second = child_environment(node, small_study(), {"PT_HPU_X": "2"}, tmp_path)
    assert plain[RECIPE_CACHE] == node[RECIPE_CACHE]
    assert len({plain[RECIPE_CACHE], first[RECIPE_CACHE], second[RECIPE_CACHE]}) == 3
    assert first["PT_HPU_X"] == "1"
    assert first["GAUDI3_SCALE_METRICS"] == str(tmp_path / "metrics.jsonl")


def test_a_command_of_ones_own_is_started_by_torchrun_with_the_values_in_their_places(tmp_path):
    script = small_study().command[0]
    command = [script, "--stop-after-steps", "{max_steps}", "--batch-size", "{batch_size}"]
    found = optuna_study()
    study = small_study(built_in=False, command=command, space={"batch_size": [24]}, trials=1, steps=5)
    worker, _ = worker_of(study, found, tmp_path)
    worker.work()
    assert found.best_value == 2400


@pytest.mark.parametrize(
    ("queued", "why"),
    [
        ({"batch_size": 10**6}, "batch_size is 1000000, which is not between 8 and 64"),
        ({"batch_size": 9}, "batch_size is 9, which is not a step of 8 from 8"),
        ({"accumulation": "1; id"}, "1; id"),
    ],
)
def test_values_that_another_node_has_queued_outside_of_the_space_are_never_run(tmp_path, queued, why, monkeypatch):
    found = optuna_study()
    found.enqueue_trial({"batch_size": 8, "accumulation": 1, **queued})
    run = []
    real = tune_worker.run_child
    monkeypatch.setattr(tune_worker, "run_child", lambda argv, *more: run.append(argv) or real(argv, *more))
    worker, _ = worker_of(small_study(trials=1), found, tmp_path)
    assert worker.work() == ""
    assert outcomes(found) == ["skipped", "ok"]
    assert why in found.trials[0].user_attrs["message"]
    assert len(run) == 1 and not {"1000000", "9", "1; id"} & set(run[0])
