# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import threading
import time

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.metrics import loggers
from gaudi3_scale.metrics.loggers import LoggerThread, Sink, choose_loggers, numbers_of

needs_tensorboard = pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="no tensorboard here")
needs_wandb = pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="no wandb here")


@pytest.fixture
def installed(monkeypatch):
    """Says which packages are there."""

    def names(*packages):
        monkeypatch.setattr(loggers.importlib.util, "find_spec", lambda name: name if name in packages else None)

    return names


@pytest.mark.parametrize(
    ("packages", "environment", "chosen"),
    [
        ((), {"WANDB_API_KEY": "k"}, ()),
        (("tensorboard",), {}, ("tensorboard",)),
        (("tensorboard", "wandb"), {}, ("tensorboard",)),
        (("tensorboard", "wandb"), {"WANDB_API_KEY": "k"}, ("tensorboard", "wandb")),
        ((), {"MLFLOW_TRACKING_URI": "http://127.0.0.1:5000"}, ("mlflow",)),
        ((), {"MLFLOW_TRACKING_URI": "sqlite:///runs.db"}, ()),
    ],
)
def test_auto_is_what_can_be_used(installed, packages, environment, chosen):
    installed(*packages)
    assert choose_loggers("auto", environment) == chosen


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        (
            "tensorbord",
            r"^--loggers tensorbord: there is no 'tensorbord'; give auto, none, or of tensorboard, wandb, mlflow\.$",
        ),
        (
            "tensorboard",
            r"^--loggers tensorboard: tensorboard is not installed; add tensorboard to gaudi_venv_extras",
        ),
        ("wandb", r"^--loggers wandb: WANDB_API_KEY is not set; "),
        ("mlflow", r"^--loggers mlflow: MLFLOW_TRACKING_URI is not set; set it for the job"),
    ],
)
def test_a_logger_that_cannot_be_used_is_refused(installed, wish, sentence):
    installed("wandb")
    with pytest.raises(GaudiError, match=sentence):
        choose_loggers(wish, {})


def test_none_is_none_and_a_name_is_taken_once(installed):
    installed("tensorboard")
    assert choose_loggers("none", {"WANDB_API_KEY": "k"}) == ()
    assert choose_loggers("tensorboard,tensorboard", {}) == ("tensorboard",)


def test_curves_of_a_line():
    fields = {"step": 3, "loss": 2.5, "lr": None, "message": "x", "seconds": {"forward": 0.1, "communication": None}}
    assert numbers_of(fields) == {"loss": 2.5, "seconds/forward": 0.1}


def test_a_logger_that_fails_is_told_once_without_the_key_and_left_out(capsys, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "f00ba4")

    def make():
        raise SystemExit("key f00ba4 is refused")

    thread = LoggerThread("wandb", make)
    assert not thread.close(time.monotonic() + 5)
    thread.log({"loss": 1.0}, 1)
    assert not thread.close(time.monotonic() + 5)
    reported = capsys.readouterr().err
    assert reported == "gaudi3_scale: wandb is left out from here on: SystemExit: key (not shown) is refused\n"


def test_a_logger_gets_every_line_and_then_its_end():
    entries = []
    thread = LoggerThread("x", lambda: Sink(lambda *entry: entries.append(entry), lambda: entries.append("finished")))
    for step in (1, 2):
        thread.log({"loss": 1.0 / step}, step)
    assert thread.close(time.monotonic() + 5)
    assert entries == [({"loss": 1.0}, 1), ({"loss": 0.5}, 2), "finished"]


def test_a_logger_that_hangs_holds_up_nothing(capsys, monkeypatch):
    monkeypatch.setattr(loggers, "MOST_WAITING", 10)
    forever = threading.Event()
    begun = time.monotonic()
    thread = LoggerThread("wandb", lambda: Sink(lambda numbers, step: forever.wait(), forever.wait))
    for step in range(100):
        thread.log({"loss": 1.0}, step)
    assert time.monotonic() - begun < 20
    assert not thread.close(time.monotonic() + 0.2)
    assert time.monotonic() - begun < 20
    assert "wandb was still behind at the end" in capsys.readouterr().err
    forever.set()


@needs_tensorboard
def test_the_curves_are_in_tensorboard_and_go_on_after_a_restart(train_here, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    first = train_here("--max-steps", 6, "--stop-after-steps", 3, "--loggers", "tensorboard")
    second = train_here("--max-steps", 6, "--loggers", "tensorboard")
    curves = EventAccumulator(str(tmp_path / "job" / "tensorboard")).Reload()
    written = {event.step: event.value for event in curves.Scalars("loss")}
    reported = {line["step"]: line["loss"] for line in [*first, *second] if line["kind"] == "step"}
    assert written == pytest.approx(reported, rel=1e-6)
    assert {"seconds/forward", "tokens_per_second", "lr", "validation_loss"} <= set(curves.Tags()["scalars"])


@needs_wandb
def test_wandb_writes_without_a_network_and_without_the_key(train_here, tmp_path, monkeypatch, capfd):
    key = "f00ba4" + "0" * 34
    for name, value in (("WANDB_API_KEY", key), ("WANDB_MODE", "offline"), ("WANDB_DIR", str(tmp_path))):
        monkeypatch.setenv(name, value)
    lines = train_here("--max-steps", 3, "--loggers", "wandb")
    assert lines[-1]["kind"] == "end"
    (data,) = tmp_path.rglob("run-*.wandb")
    assert b"tokens_per_second" in data.read_bytes()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [str(path) for path in files if key.encode() in path.read_bytes()] == []
    assert key not in "".join(capfd.readouterr())
