# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Validation while a training goes on, and its early end."""

from __future__ import annotations

import pytest

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale.core._errors import GaudiError
from job_runs import SMALL_MODEL, losses, read_lines

EVERY_TWO = ["--max-steps", 8, "--validate-every", 2, "--learning-rate", 0.01, "--loggers", "none"]
# With such steps the held-out loss soon rises, and does not fall below its lowest again.
DIVERGES = ["--max-steps", 40, "--validate-every", 1, "--learning-rate", 3, "--loggers", "none", "--clip", 0]


def validations(lines):
    return {line["step"]: line["validation_loss"] for line in lines if line["kind"] == "validation"}


def test_it_is_told_every_few_steps_and_changes_nothing(train_here):
    without = train_here("--max-steps", 8, "--learning-rate", 0.01, "--loggers", "none", job="without")
    lines = train_here(*EVERY_TWO, job="with")
    assert losses(lines) == losses(without)
    found = validations(lines)
    # The last step's is in the end, as of every training.
    assert list(found) == [2, 4, 6]
    assert found[6] < found[2]
    end = lines[-1]
    assert end["validation_loss"] == without[-1]["validation_loss"] < found[6]
    assert "reason" not in end


def test_it_is_what_the_end_would_say(train_here):
    stopped = train_here(*EVERY_TWO, "--stop-after-steps", 4, job="parts")
    assert stopped[-1]["validation_loss"] == pytest.approx(validations(stopped)[4], rel=1e-6)


def test_a_training_without_a_lower_loss_ends_with_a_checkpoint(train_here, tmp_path):
    lines = train_here(*DIVERGES, "--patience", 3)
    found, end = validations(lines), lines[-1]
    best = min(found, key=found.get)
    assert end["kind"] == "end"
    assert end["step"] == best + 3 < 40
    assert end["reason"] == (
        f"--patience 3: as many validations in a row had no lower loss than {round(found[best], 4)} at step {best}"
    )
    assert (tmp_path / "job" / "checkpoints" / f"step-{end['step']:08}").is_dir()
    # Launched again, it has ended; with more patience it goes on.
    again = train_here(*DIVERGES, "--patience", 3)
    assert losses(again) == {}
    assert (again[-1]["kind"], again[-1]["step"], again[-1]["reason"]) == ("end", end["step"], end["reason"])
    further = train_here(*DIVERGES, "--patience", 5)
    assert further[-1]["step"] >= end["step"] + 1


def test_an_interruption_changes_neither_the_best_nor_the_end(train_here):
    whole = train_here(*DIVERGES, "--patience", 4, job="whole")
    first = train_here(*DIVERGES, "--patience", 4, "--stop-after-steps", 3, job="parts")
    second = train_here(*DIVERGES, "--patience", 4, job="parts")
    assert {**validations(first), **validations(second)} == pytest.approx(validations(whole), rel=1e-6)
    assert second[-1]["step"] == whole[-1]["step"]
    assert second[-1]["reason"] == whole[-1]["reason"]


def test_two_ranks_validate_together(tmp_path, text):
    script = tmp_path / "train.py"
    script.write_text("from gaudi3_scale import train\ntrain.main()\n")
    options = ["--text", text, "--device", "cpu", *SMALL_MODEL, *EVERY_TWO, "--sharding", "fsdp2", "--metrics-every", 1]
    ranks = start_script(tmp_path, script, *options)
    assert ends_of(ranks) == [0, 0], said_in(tmp_path)
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert list(validations(lines)) == [2, 4, 6]
    steps = [line for line in lines if line["kind"] == "step"]
    assert all(0 < line["gradient_norm"] < 100 for line in steps)
    # Each rank keeps its share.
    (start,) = [line for line in lines if line["kind"] == "start"]
    assert steps[-1]["memory_parts"]["weights"] == pytest.approx(2 * start["parameters"], rel=0.05)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--patience", 2], "counts validations during the training, and there are none; give --validate-every too"),
        (["--validate-every", 5, "--validation-batches", 0], "leaves nothing to validate with; give 1 or more"),
        (["--static-graph", "--sharding", "fsdp2"], r"^--static-graph is an option of DDP"),
        (["--static-graph", "--accumulate", 2], r"^--static-graph: a step has 2 passes, and they are not all alike"),
        (["--precision", "fp8"], r"--precision: no release in the table of gaudi3\.scale has a documented interface"),
        (["--peak-tflops", "0"], "is not a number above 0"),
    ],
)
def test_what_could_not_be_meant_is_refused(train_here, tmp_path, options, said):
    with pytest.raises(GaudiError, match=said):
        train_here("--max-steps", 8, *options)
    assert not (tmp_path / "job" / "checkpoints").exists()
