# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer's --profile: where the profile goes, and which windows are refused."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._profile.directory import read_records, read_traces
from gaudi3_scale.profiler.training_options import require_room_for_traces, traced_ranks
from gaudi3_scale.trainer.options import parse_options

SHORT = ["--profile", "--profile-first-step", 4, "--profile-steps", 9]


def test_a_profile_lies_in_the_jobs_directory(train_here, tmp_path):
    lines = train_here("--max-steps", 13, "--checkpoint-every", 0, *SHORT)
    folder = tmp_path / "job" / "profile"
    assert [line["directory"] for line in lines if line["kind"] == "profile"] == [str(folder)]
    (record,) = read_records(str(folder))
    assert [step.number for step in record.steps] == list(range(4, 13))
    assert [step.number for step in record.steps if step.traced] == [9, 10, 11, 12]
    traces, wrong = read_traces(str(folder), [record])
    assert (wrong, traces[0].steps) == ([], 3)
    assert all(step.parts["forward"] and step.parts["backward"] and step.parts["optimizer"] for step in record.steps)


def test_a_run_that_resumes_behind_its_window_goes_on_without(train_here, tmp_path):
    train_here("--max-steps", 20, "--stop-after-steps", 6)
    lines = train_here("--max-steps", 20, *SHORT)
    assert lines[-1]["kind"] == "end"
    assert "steps 4 to 12 are not profiled: this run goes from 6 on" in {line.get("message") for line in lines}
    assert not (tmp_path / "job" / "profile").exists()


def test_a_training_without_it_is_not_touched(train_here, tmp_path):
    train_here("--max-steps", 2)
    assert not (tmp_path / "job" / "profile").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile-steps", "9"], "--profile-steps is for --profile; give that too, or leave it out."),
        (["--profile-links"], "--profile-links is for --profile"),
        (["--profile", "--profile-steps", "8"], "5 steps are clocked and 4 traced at least; give 9 or more."),
        (["--profile", "--profile-first-step", "3"], "--profile-first-step 3 is inside the warm-up"),
        (["--profile", "--profile-first-step", "90"], "steps 90 to 113 end beyond step 100, the last one"),
        (["--profile", "--stop-after-steps", "20"], "steps 11 to 34 end beyond step 20, the last one"),
        (["--profile", "--profile-ranks", "one"], "'one' is not a whole number of at least 0"),
    ],
)
def test_a_window_that_cannot_be_is_one_sentence(words, said):
    with pytest.raises(GaudiError) as raised:
        parse_options(["--max-steps", "100", "--text", ".", *words])
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_bridge_that_leaves_cards_out_is_refused(monkeypatch):
    monkeypatch.setenv("HABANA_PROFILE", "0")
    with pytest.raises(GaudiError, match="HABANA_PROFILE=0 leaves the cards out of every trace; unset it"):
        parse_options(["--max-steps", "100", "--text", ".", "--profile"])
    parse_options(["--max-steps", "100", "--text", "."])


@pytest.mark.parametrize(("asked", "world", "expected"), [(None, 4, (0,)), ((1, 3), 4, (1, 3)), ((), 4, (0, 1, 2, 3))])
def test_whose_trace_is_written(asked, world, expected):
    assert traced_ranks(SimpleNamespace(profile_ranks=asked), world) == expected


@pytest.mark.parametrize(
    ("asked", "world", "said"),
    [
        ((0, 9), 8, "--profile-ranks 0,9: there is no rank 9, the ranks of this training are 0 to 7."),
        ((), 512, "--profile-ranks: 512 ranks would each write a trace; name at most 16"),
    ],
)
def test_ranks_that_cannot_be_traced_are_one_sentence(asked, world, said):
    with pytest.raises(GaudiError) as raised:
        traced_ranks(SimpleNamespace(profile_ranks=asked), world)
    assert said in str(raised.value)


def test_a_disk_without_room_is_refused_before_the_first_step(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=300 << 20))
    require_room_for_traces(tmp_path / "not" / "yet", 1)
    with pytest.raises(GaudiError, match=r"has 300 MiB left and 2 trace\(s\) may take 528 MiB; make room"):
        require_room_for_traces(tmp_path / "not" / "yet", 2)
