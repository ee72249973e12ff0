# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._tune.study import definition, launch_variables, plan, study_from, trial_command

OPTIONS = {
    "name": "llama",
    "objective": "throughput",
    "trials": 20,
    "steps": 30,
    "tokens": None,
    "pruner": "median",
    "space": {},
    "flags": {},
    "command": ["-m", "gaudi3_scale.train", "--text", "/data", "--max-steps", "200"],
    "built_in": True,
    "processes": 8,
    "device": "hpu",
    "timeout": 1800,
    "sequence_length": 256,
    "environment": {},
    "probe": {"workload": "a:b"},
}
OWN = {
    "built_in": False,
    "command": ["/srv/train.py", "--bs={batch_size}", "--depth", "{depth}", "--steps", "{max_steps}"],
    "space": {"batch_size": [8, 16], "depth": [2, 4]},
}
PARAMS = {"batch_size": 32, "accumulation": 2, "checkpointing": True, "compile": False, "workers": 4}


def study(**changed):
    return study_from({**OPTIONS, **changed})


def test_a_trial_is_what_would_be_launched_with_its_values_behind():
    words = trial_command(study(), PARAMS)
    assert words[:6] == OPTIONS["command"]
    text = " ".join(words[6:])
    assert "--accumulate 2 --checkpointing --workers 4 --batch-size 32" in text
    assert "--compile" not in text
    # Left out, the trainer decides by the model's size.
    assert "--checkpointing off" in " ".join(trial_command(study(), {**PARAMS, "checkpointing": False}))


def test_a_trial_ends_one_step_early_and_writes_no_checkpoint():
    text = " ".join(trial_command(study(), PARAMS))
    assert "--max-steps 31 --stop-after-steps 30 --checkpoint-every 0 --metrics-every 3" in text


def test_a_budget_of_tokens_is_the_same_whatever_the_batch():
    tokens = study(objective="loss", steps=None, tokens=1_000_000)
    for params in ({"batch_size": 8}, {"batch_size": 8, "accumulation": 4}):
        steps = tokens.trial_steps(params)
        assert abs(steps * tokens.tokens_per_step(params) - 1_000_000) < tokens.tokens_per_step(params)
    largest = tokens.largest_batch({"accumulation": 4})
    assert tokens.trial_steps({"batch_size": largest, "accumulation": 4}) >= 10
    assert study().largest_batch({}) is None


def test_values_take_their_places_in_a_command_of_ones_own():
    words = trial_command(study(**OWN), {"batch_size": 16, "depth": 4})
    assert words == ["/srv/train.py", "--bs=16", "--depth", "4", "--steps", "30"]


def test_the_best_becomes_variables_of_the_launch():
    fixed = {"gaudi_training_precision": "bf16", "gaudi_training_arguments": ["--warmup-steps", "5"]}
    variables = launch_variables(study(environment={"A": "1"}), {**PARAMS, "learning_rate": 0.00031}, fixed, {"B": "2"})
    assert variables["gaudi_training_batch_size"] == 32
    assert variables["gaudi_training_precision"] == "bf16"
    assert variables["gaudi_training_environment"] == {"A": "1", "B": "2"}
    assert variables["gaudi_training_arguments"][:2] == ["--warmup-steps", "5"]
    assert variables["gaudi_training_arguments"][-2:] == ["--learning-rate", "0.00031"]


def test_the_best_of_ones_own_command_leaves_the_steps_to_the_launch():
    variables = launch_variables(study(**OWN), {"batch_size": 16, "depth": 4}, {}, {})
    assert variables == {
        "gaudi_training_command": [
            "/srv/train.py",
            "--bs=16",
            "--depth",
            "4",
            "--steps",
            "{max_steps}",
        ]
    }


def test_going_on_with_more_trials_is_the_same_study_and_another_space_is_not():
    assert definition({**OPTIONS, "trials": 40, "pruner": "none", "timeout": 5}) == definition(OPTIONS)
    assert definition({**OPTIONS, "space": {"workers": [1]}}) != definition(OPTIONS)


def test_before_2_19_a_null_variable_is_an_empty_text_and_a_number_is_one_too():
    old = study(steps="30", tokens="", trials="20")
    assert (old.steps, old.tokens, old.trials) == (30, None, 20)


def test_the_plan_has_the_flags_to_be_judged():
    planned = plan({**OPTIONS, "flags": {"PT_HPU_X": ["1", None]}, "extra": 1})
    assert planned["flag_sets"] == [{"PT_HPU_X": "1"}]
    assert set(planned["study"]) == set(OPTIONS)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"trials": 0}, "gaudi_tune_trials is 0; give a number of at least 1"),
        ({"trials": "many"}, "gaudi_tune_trials is 'many'"),
        ({"objective": "speed"}, "gaudi_tune_objective is 'speed'; choose throughput, loss"),
        ({"pruner": "wilcoxon"}, "gaudi_tune_pruner is 'wilcoxon'; choose median, hyperband, none"),
        ({"steps": None}, "either gaudi_tune_steps or gaudi_tune_tokens, and neither is given"),
        ({"tokens": 10**9}, "either gaudi_tune_steps or gaudi_tune_tokens, and both are given"),
        ({"steps": 3}, "gaudi_tune_steps is 3; give at least 10"),
        (
            {"steps": None, "tokens": 1000},
            "gaudi_tune_tokens is 1000, fewer than 10 optimizer steps of batch size 8 have",
        ),
        ({"probe": None}, "batch_size has no high and nothing is probed"),
        ({"space": {"batch_size": None}}, "gaudi_tune_space.batch_size is left out"),
        ({"name": "a/b"}, "cannot name a job"),
        ({**OWN, "space": {"depth": [1], "width": [2]}}, "gaudi_training_command has no {width}"),
        ({**OWN, "command": ["x.py", "{depth}{batch_size}"]}, "gaudi_training_command has no {max_steps}"),
        ({**OWN, "steps": None, "tokens": 10**9}, "gaudi_tune_tokens is for the built-in trainer"),
        ({**OWN, "space": {}}, "There is nothing to choose"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_remedy(changed, sentence):
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        study(**changed)
