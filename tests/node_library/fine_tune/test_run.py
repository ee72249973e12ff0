# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A fine-tuning as a job: it goes on, reports, evaluates, and says in one sentence what is wrong with its options."""

import json
import os
import subprocess
import sys

import pytest
from safetensors.torch import load_file

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.__main__ import fine_tune

CLASSIFY = "--task text-classification --model_name_or_path {m}/bert --train_file {d}/pairs.jsonl --max_seq_length 16 "


def steps(out):
    state = json.loads((out / "trainer_state.json").read_text(encoding="utf-8"))
    return [entry["step"] for entry in state["log_history"] if "loss" in entry], state["global_step"]


def test_it_goes_on_from_the_newest_checkpoint_and_ends_as_without_a_break(tune_here, tmp_path, capsys):
    words = CLASSIFY + "--save_steps 4 --lr_scheduler_type constant "
    out = tune_here(words + "--max_steps 8")
    whole = load_file(out / "model.safetensors")
    # As if it had been lost in step 7.
    for name in ("checkpoint-8", "model.safetensors"):
        (out / name).rename(tmp_path / name)
    tune_here(words + "--max_steps 8 --use_habana")
    assert steps(out)[1] == 8 and (out / "checkpoint-8").is_dir()
    assert all((value == whole[name]).all() for name, value in load_file(out / "model.safetensors").items())
    assert "gaudi3_scale.fine_tune: --use_habana has no effect: " in capsys.readouterr().err
    # Anew, where that is said.
    tune_here(words + "--max_steps 2 --resume_from_checkpoint False")
    assert steps(out)[0] == [1, 2]


def test_its_steps_are_reported_and_its_checkpoints_are_where_the_job_has_them(parts, tmp_path, monkeypatch):
    job, lines = tmp_path / "job", tmp_path / "metrics.jsonl"
    monkeypatch.setenv("GAUDI3_SCALE_JOB_DIR", str(job))
    monkeypatch.setenv("GAUDI3_SCALE_METRICS", str(lines))
    words = (
        CLASSIFY.format(m=parts / "models", d=parts / "data")
        + "--max_steps 3 --save_steps 3 --use_cpu --logging_steps 1"
    )
    fine_tune(words.split())
    assert (job / "checkpoint-3").is_dir() and (job / "model.safetensors").is_file()
    reported = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    steps = [line["step"] for line in reported if line["kind"] == "step"]
    assert (steps[0], steps[-1]) == (1, 3)


def test_it_evaluates_what_it_trained(tune_here, parts):
    out = tune_here(
        CLASSIFY + "--validation_file {d}/pairs.jsonl --max_eval_samples 8 --do_train --do_eval --max_steps 2"
    )
    assert json.loads((out / "eval_results.json").read_text(encoding="utf-8"))["eval_loss"] > 0
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["id2label"] == {"0": "no", "1": "yes"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--task fill-mask --train_file {d}/texts.jsonl", "--model_name_or_path is missing"),
        ("--task fill-mask --model_name_or_path {m}/bert", "--train_file is missing"),
        (CLASSIFY + "--do_eval", "--validation_file is missing"),
        (
            CLASSIFY + "--learning_rate much",
            "--learning_rate/--learning-rate: invalid float value: 'much'; .* --help shows",
        ),
        (CLASSIFY + "--no_such_switch", "no_such_switch"),
        (CLASSIFY + "--fp8", "--fp8 is not supported: "),
        ("--task fill-mask --model_name_or_path {t}/none --train_file {d}/texts.jsonl", "none cannot be loaded: "),
        ("--task image-classification --model_name_or_path {m}/vit", "--train_dir is missing"),
    ],
)
def test_a_wrong_option_is_one_sentence(tune_here, words, said):
    with pytest.raises(GaudiError, match=said):
        tune_here(words)


def test_it_says_what_is_missing_without_importing_anything(monkeypatch):
    monkeypatch.setitem(sys.modules, "gaudi3_scale.fine_tune.run", None)
    with pytest.raises(GaudiError, match=r"--dataset_name squad is not supported: .* give --train_file"):
        fine_tune(["--task", "question-answering", "--dataset_name", "squad"])


@pytest.mark.in_turn
def test_two_ranks_train_together_and_one_tells(parts, tmp_path):
    words = CLASSIFY.format(m=parts / "models", d=parts / "data") + "--use_cpu --max_steps 3 --use_habana"
    alone = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "HF_HUB_OFFLINE": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    done = subprocess.run(
        [*torchrun, "gaudi3_scale.fine_tune", *words.split(), "--output_dir", str(tmp_path)],
        env={**os.environ, **alone},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("gaudi3_scale.fine_tune: --use_habana has no effect") == 1
    results = json.loads((tmp_path / "train_results.json").read_text(encoding="utf-8"))
    # 64 samples in batches of 8 on two ranks are 4 steps.
    assert results["epoch"] == 0.75
