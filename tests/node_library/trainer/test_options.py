# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.trainer.options import parse_options

ENOUGH = ["--text", "x", "--max-steps", "3"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-steps", "3"], "One of the arguments --text --data is required"),
        (["--text", "x", "--max-steps", "0"], "Argument --max-steps: '0' is not a whole number of at least 1"),
        ([*ENOUGH, "--batch-size", "2.5"], "Argument --batch-size: '2.5' is not a whole number of at least 1"),
        ([*ENOUGH, "--learning-rate", "0"], "Argument --learning-rate: '0' is not a number above 0"),
        ([*ENOUGH, "--clip", "nan"], "Argument --clip: 'nan' is not a number of at least 0"),
        ([*ENOUGH, "--precision", "fp16"], "Argument --precision: invalid choice: 'fp16'"),
        ([*ENOUGH, "--bacth-size", "3"], "Unrecognized arguments: --bacth-size 3"),
        ([*ENOUGH, "--width", "10"], "--width 10 is not a multiple of --heads 4; change one of the two."),
        ([*ENOUGH, "--warmup-steps", "4"], "--warmup-steps 4 is more than --max-steps 3; make it smaller."),
        (
            [*ENOUGH, "--schedule", "one-cycle", "--warmup-steps", "1"],
            "--warmup-steps 1: one cycle rises over at least 2 steps and comes down before --max-steps 3; give 0, ",
        ),
        ([*ENOUGH, "--data", "y"], "Argument --data: not allowed with argument --text"),
        ([*ENOUGH, "--workers", "many"], "Argument --workers: 'many' is not a whole number of at least 0"),
        ([*ENOUGH, "--from-scratch"], "--from-scratch is for --model; the built-in model always begins with new weig"),
        (
            [*ENOUGH, "--memory-every", "5", "--checkpoint-every", "0"],
            "--memory-every 5: what is in memory is lost with a node's power; give --checkpoint-every too.",
        ),
        (
            [*ENOUGH, "--sharding", "fsdp2", "--gradient-compression", "fp16"],
            "--gradient-compression fp16: FSDP2 exchanges gradients by itself; give --sharding ddp, or leave the compr",
        ),
    ],
)
def test_a_wrong_option_is_one_sentence(arguments, sentence):
    with pytest.raises(GaudiError) as caught:
        parse_options(arguments)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_files_come_from_the_job_when_it_names_them(monkeypatch):
    monkeypatch.setenv("GAUDI3_SCALE_JOB_DIR", "/jobs/one")
    monkeypatch.setenv("GAUDI3_SCALE_METRICS", "/logs/one/metrics.jsonl")
    options = parse_options(ENOUGH)
    assert (str(options.job_dir), options.metrics) == ("/jobs/one", "/logs/one/metrics.jsonl")


@pytest.mark.parametrize(
    ("words", "choice"),
    [([], "auto"), (["--checkpointing"], "on"), (["--checkpointing", "off"], "off"), (["--checkpointing", "on"], "on")],
)
def test_the_switch_of_activation_checkpointing_still_means_on(words, choice):
    assert parse_options([*ENOUGH, *words, "--compile"]).checkpointing == choice
