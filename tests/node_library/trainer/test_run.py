# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer as a whole, alone in this process: what it learns, and that an interruption changes nothing."""

from __future__ import annotations

import io

import pytest
import torch
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from gaudi3_scale.checkpoints.files import steps_in
from gaudi3_scale.core._errors import GaudiError
from job_runs import losses

PLAN = ["--max-steps", 12, "--checkpoint-every", 4, "--learning-rate", 0.01, "--warmup-steps", 2, "--accumulate", 2]


def test_the_loss_of_untrained_bytes_falls(train_here):
    lines = train_here("--max-steps", 40, "--learning-rate", 0.01, "--warmup-steps", 4)
    loss = losses(lines)
    assert loss[1] == pytest.approx(torch.tensor(256.0).log().item(), abs=0.15)
    assert loss[40] < 3.5
    end = lines[-1]
    assert (end["kind"], end["step"], end["first_loss"], end["last_loss"]) == ("end", 40, loss[1], loss[40])
    assert end["validation_loss"] == pytest.approx(loss[40], abs=0.5)


def test_an_interrupted_job_goes_on_as_if_nothing_had_been(train_here):
    whole = losses(train_here(*PLAN, job="whole"))
    first = train_here(*PLAN, "--stop-after-steps", 5, job="parts")
    second = train_here(*PLAN, job="parts")
    assert (list(losses(first)), list(losses(second))) == ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 12])
    assert (first[0]["resumed_from"], second[0]["resumed_from"]) == (None, 5)
    assert {**losses(first), **losses(second)} == pytest.approx(whole, rel=1e-6)
    assert second[-1]["first_loss"] == losses(first)[1]


def test_metric_lines_have_rates_without_the_first_step(train_here):
    lines = train_here("--max-steps", 4, "--warmup-steps", 2, "--learning-rate", 0.01)
    steps = [line for line in lines if line["kind"] == "step"]
    assert steps[0]["tokens_per_second"] is None
    assert all(line["tokens_per_second"] > 0 for line in steps[1:])
    assert steps[-1]["seconds_left"] == 0
    assert [line["lr"] for line in steps[:3]] == pytest.approx([0.005, 0.01, 0.01])


def test_a_line_covers_all_steps_since_the_last(train_here):
    each = losses(train_here("--max-steps", 6, job="each"))
    some = losses(train_here("--max-steps", 6, "--metrics-every", 3, job="some"))
    assert list(some) == [1, 3, 6]
    assert some[3] == pytest.approx((each[2] + each[3]) / 2, rel=1e-6)
    assert some[6] == pytest.approx((each[4] + each[5] + each[6]) / 3, rel=1e-6)


def test_what_is_kept_and_unfinished_ones_cleared(train_here, tmp_path, caplog):
    folder = tmp_path / "job" / "checkpoints"
    (folder / ".step-00000002.77").mkdir(parents=True)
    train_here("--max-steps", 9, "--checkpoint-every", 1, "--checkpoints-kept", 2, "--checkpoints-kept-every", 3)
    assert list(steps_in(folder)) == [3, 6, 8, 9]
    assert len(list(folder.iterdir())) == 4
    assert f"{folder}/.step-00000002.77 was never finished; removed." in caplog.text


def test_a_measurement_writes_no_checkpoint(train_here, tmp_path):
    lines = train_here("--max-steps", 3, "--checkpoint-every", 0)
    assert list(losses(lines)) == [1, 2, 3]
    assert steps_in(tmp_path / "job" / "checkpoints") == {}


def test_a_checkpoint_needs_no_code_of_ours_to_be_read(train_here, tmp_path):
    train_here("--max-steps", 2)
    dcp_to_torch_save(tmp_path / "job" / "checkpoints" / "step-00000002", tmp_path / "one.pt")
    checkpoint = torch.load(tmp_path / "one.pt", weights_only=True)
    assert checkpoint["model"]["model.tokens.weight"].shape == (256, 32)
    assert checkpoint["optimizer"]["model.tokens.weight"]["exp_avg"].shape == (256, 32)
    progress = torch.load(io.BytesIO(checkpoint["progress"]), weights_only=True)
    assert progress["module"]["samples_seen"] == 16
    assert progress["module"]["model_shape"]["width"] == 32


def test_a_finished_job_trains_no_further(train_here):
    train_here("--max-steps", 2)
    lines = train_here("--max-steps", 2)
    assert [line["kind"] for line in lines] == ["start", "end"]
    assert "nothing to train" in lines[-1]["message"]


def test_a_named_checkpoint_begins_another_job(train_here, tmp_path):
    train_here("--max-steps", 3, job="one")
    path = tmp_path / "one" / "checkpoints" / "step-00000003"
    lines = train_here("--max-steps", 4, "--resume", path, job="two")
    assert (lines[0]["resumed_from"], list(losses(lines))) == (3, [4])
    (path / "__0_0.distcp").write_bytes(b"")
    with pytest.raises(GaudiError, match=rf"^--resume {path}: damaged on rank 0: __0_0\.distcp has 0 bytes instead of"):
        train_here("--max-steps", 4, "--resume", path, job="three")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--resume", "never"],
            r"^--resume never: .*already holds step 3; move it away, or choose another --job-dir\.$",
        ),
        (["--width", 64], r"^--width 64: the checkpoint's model has 32; "),
        (["--resume", "/nothing"], r"^--resume /nothing: no rank has such a checkpoint; name a folder step-…\.$"),
    ],
)
def test_what_would_lose_or_mix_up_checkpoints_is_refused(train_here, tmp_path, options, sentence):
    train_here("--max-steps", 3)
    with pytest.raises(GaudiError, match=sentence):
        train_here("--max-steps", 6, *options)
    assert [path.name for path in (tmp_path / "job" / "checkpoints").iterdir()] == ["step-00000003"]


def test_where_no_checkpoint_could_be_written_nothing_begins(train_here, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "checkpoints").touch()
    with pytest.raises(GaudiError, match=r"^--job-dir: rank 0 cannot write checkpoints to .*: File exists; make it"):
        train_here("--max-steps", 3)
    assert not (tmp_path / "job" / "metrics.jsonl").read_text()


def test_a_directory_with_damaged_checkpoints_alone_is_not_begun_anew(train_here, tmp_path):
    train_here("--max-steps", 3)
    (tmp_path / "job" / "checkpoints" / "step-00000003" / "manifest.json").unlink()
    with pytest.raises(
        GaudiError, match=r"^--resume auto: no checkpoint in .* is complete: step 3: manifest\.json: No"
    ):
        train_here("--max-steps", 6)


def test_too_little_text_is_refused(train_here):
    with pytest.raises(GaudiError, match=r"^--text: \d+ bytes give \d windows of --sequence-length 4000"):
        train_here("--max-steps", 3, "--sequence-length", 4000)


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_both_precisions_train(train_here, precision):
    loss = losses(train_here("--max-steps", 10, "--learning-rate", 0.01, "--precision", precision))
    assert loss[10] < loss[1] - 1


def test_how_a_step_is_computed_changes_nothing_that_is_learnt(train_here):
    plain = losses(train_here(*PLAN, job="plain"))
    other = losses(train_here(*PLAN, "--checkpointing", "--workers", 1, job="other"))
    assert other == pytest.approx(plain, rel=1e-5)


def test_a_compiled_model_writes_checkpoints_that_one_that_is_not_goes_on_from(train_here, monkeypatch):
    """The backend that only runs the graph as it is needs no compiler."""
    monkeypatch.setattr("gaudi3_scale.trainer.run.compile_backend", lambda kind: "eager")
    whole = losses(train_here(*PLAN, job="whole"))
    first = losses(train_here(*PLAN, "--compile", "--stop-after-steps", 5, job="parts"))
    assert {**first, **losses(train_here(*PLAN, job="parts"))} == pytest.approx(whole, rel=1e-4)


def test_a_step_has_all_its_batches_where_more_of_them_are_accumulated_than_before(train_here):
    """As when fewer ranks share a global batch: five steps of two passes are no whole number of steps of three."""
    plan = ["--max-steps", 9, "--checkpoint-every", 5]
    whole = losses(train_here(*plan, "--batch-size", 6, "--accumulate", 2, job="whole"))
    train_here(*plan, "--batch-size", 6, "--accumulate", 2, "--stop-after-steps", 5)
    lines = train_here(*plan, "--batch-size", 4, "--accumulate", 3)
    assert lines[0]["resumed_from"] == 5
    assert losses(lines) == pytest.approx({step: whole[step] for step in range(6, 10)}, rel=0.002)


def test_a_static_graph_has_the_same_losses(train_here):
    plain = losses(train_here("--max-steps", 4, "--loggers", "none", job="plain"))
    lines = train_here("--max-steps", 4, "--loggers", "none", "--static-graph", job="static")
    assert losses(lines) == pytest.approx(plain, rel=1e-6)
