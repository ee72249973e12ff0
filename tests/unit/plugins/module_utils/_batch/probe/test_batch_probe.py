# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import sharing
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.memory_model import Prior
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe import batch_probe
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.batch_probe import (
    Probe,
    parse_size,
    probe,
    probe_step,
    read_environment,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.own_module import own_module


@pytest.fixture
def wanted_probe(tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    # A Python that finds every module.
    python.write_text("#!/bin/sh\necho {}\n")
    python.chmod(0o755)
    flags = tmp_path / "environment"
    flags.write_text("PT_HPU_LAZY_MODE=0\n")

    def make(**changes):
        options = {
            "workload": Workload("m:f", {"width": 2}, device="cpu"),
            "maximum": 64,
            "multiple_of": 8,
            "timeout": 30,
            "venv": str(tmp_path / "venv"),
            "environment_files": (str(flags),),
            "state_directory": str(tmp_path / "state"),
        }
        return Probe(**{**options, **changes})

    return make


@pytest.fixture
def trials(monkeypatch):
    """Takes the place of the child processes: 24 fits. Returns the sizes tried, with the flags they had."""
    made = []

    def run_trial(_workload, batch_size, *, environment, **_rest):
        made.append((batch_size, environment["PT_HPU_LAZY_MODE"]))
        return Trial(batch_size, "ok" if batch_size <= 24 else "out_of_memory", 100 * batch_size, 0.5, "")

    monkeypatch.setattr(batch_probe, "run_trial", run_trial)
    return made


@pytest.fixture
def own(tmp_path):
    return own_module(tmp_path)


@pytest.mark.parametrize("check_mode", [True, False])
def test_what_the_workload_lacks_is_said_before_any_trial_also_where_it_is_only_looked_at(
    wanted_probe, trials, own, check_mode
):
    workload = Workload("mine:step", device="cpu")
    for environment, missing in (({}, "mine"), ({"PYTHONPATH": str(own)}, "helping")):
        if missing == "helping":
            (own / "helping.py").rename(own / "away.py")
        with pytest.raises(GaudiError) as caught:
            probe_step(wanted_probe(workload=workload, environment=environment), check_mode=check_mode)
        assert str(caught.value).startswith("workload mine:step: mine cannot be imported: ")
        assert str(caught.value).endswith(
            f"has no module {missing}; install it there, or name its folder in PYTHONPATH (gaudi_batch_environment)."
        )
        # By which nodes of a kind are known.
        assert caught.value.facts["key"]
    assert trials == []


def test_variables_of_the_trials_own_win_over_those_of_files(wanted_probe, trials, own):
    given = {"PYTHONPATH": str(own), "PT_HPU_LAZY_MODE": "1"}
    found = probe(wanted_probe(workload=Workload("mine:step", device="cpu"), environment=given))
    assert [flags for _size, flags in trials] == ["1"] * len(trials)
    assert (found["fields"]["variable PT_HPU_LAZY_MODE"], found["fields"]["variable PYTHONPATH"]) == ("1", str(own))


def test_the_answer_is_found_with_the_flags_of_the_job_then_remembered(wanted_probe, trials):
    first = probe(wanted_probe())
    assert trials == [(8, "0"), (16, "0"), (32, "0"), (24, "0")]
    assert (first["changed"], first["cached"], first["batch_size"]) == (True, False, 24)
    again = probe(wanted_probe())
    assert (again["changed"], again["cached"], again["batch_size"]) == (False, True, 24)
    assert json.dumps([again[name] for name in ("trials", "within", "why")]) == json.dumps(
        [first[name] for name in ("trials", "within", "why")]
    )
    assert (first["certified"], first["why"]) == (True, "32 was tried and ran out of memory")
    assert len(trials) == 4


def test_what_is_kept_is_for_nobody_else(wanted_probe, trials):
    assert Path(probe(wanted_probe())["cache_file"]).stat().st_mode & 0o777 == 0o600


def test_an_account_that_cannot_open_the_cards_is_refused_before_a_trial(wanted_probe, trials, tmp_path):
    (tmp_path / "dev/accel").mkdir(parents=True)
    (tmp_path / "dev/accel/accel0").touch(mode=0o600)
    wanted = wanted_probe(workload=Workload("m:f"), user="nobody", kernel_root=str(tmp_path))
    with pytest.raises(GaudiError, match=r"user nobody cannot open .*/dev/accel/accel0 on this node"):
        probe(wanted)
    assert trials == []


def test_where_the_limit_is_known_the_peaks_choose_the_next_size(wanted_probe, trials):
    workload = Workload("m:f", {"width": 2}, device="cpu", memory_limit=2450)
    assert probe(wanted_probe(workload=workload))["batch_size"] == 24
    assert len(trials) <= 3
    # It stands for a card's memory only where there is no card.
    assert wanted_probe(workload=Workload("m:f", device="hpu", memory_limit=2450)).bounds.limit_bytes is None


def test_check_mode_probes_nothing_and_writes_nothing(wanted_probe, trials, tmp_path):
    result = probe(wanted_probe(), check_mode=True)
    assert (result["changed"], result["batch_size"], result["trials"]) == (True, None, [])
    assert result["next"]["batch_size"] == 8
    assert trials == []
    assert not (tmp_path / "state").exists()
    probe(wanted_probe())
    assert probe(wanted_probe(), check_mode=True)["batch_size"] == 24


def test_an_estimate_made_on_the_host_is_the_first_size_and_is_made_once(wanted_probe, trials, monkeypatch):
    made = []

    def estimate(workload, **_rest):
        made.append(workload.function)
        return Prior(0.0, 100.0, 0.15)

    monkeypatch.setattr(batch_probe, "estimate", estimate)
    workload = Workload("m:f", {"width": 2}, device="cpu", memory_limit=2450)
    # 2450 bytes less the margin hold 21 samples of 115 bytes.
    assert probe_step(wanted_probe(workload=workload))["trials"][0]["batch_size"] == 16
    result = probe(wanted_probe(workload=workload))
    assert (result["batch_size"], [size for size, _ in trials], made) == (24, [16, 24], ["m:f"])
    assert json.loads(Path(result["cache_file"]).read_text())["estimate"]["bytes_per_sample"] == 100.0
    # A node that only verifies needs none.
    other = Workload("m:f", {"width": 3}, device="cpu", memory_limit=2450)
    assert probe(wanted_probe(workload=other, verify=24))["verified"]
    assert made == ["m:f"]


def test_several_ranks_start_from_the_readings_of_one_on_this_node(wanted_probe, monkeypatch):
    made = []

    def run_trial(workload, size, **_rest):
        made.append((workload.processes, size))
        peak = 1000 + 100 * size + (300 if workload.processes > 1 else 0)
        return Trial(size, "ok" if peak <= 10000 else "out_of_memory", peak, 0.5, "", 1000, 0, 10000)

    monkeypatch.setattr(batch_probe, "run_trial", run_trial)
    monkeypatch.setattr(batch_probe, "estimate", lambda *_given, **_named: None)
    options = {"maximum": 1024, "multiple_of": 1}
    alone = Workload("m:f", {"width": 2}, device="cpu", memory_limit=10000)
    assert probe(wanted_probe(workload=alone, **options))["batch_size"] >= 87
    made.clear()
    ranks = Workload("m:f", {"width": 2, "sharding": "ddp"}, device="cpu", memory_limit=10000, processes=2)
    found = probe(wanted_probe(workload=ranks, **options))
    assert 84 <= found["batch_size"] <= 87
    assert (made[0][0], made[0][1] > 70, len(made) <= 2) == (2, True, True), made
    # Of other options the trials say nothing.
    made.clear()
    other = Workload("m:f", {"width": 3, "sharding": "ddp"}, device="cpu", memory_limit=10000, processes=2)
    assert probe_step(wanted_probe(workload=other, **options))["trials"][0]["batch_size"] == 2


def test_before_a_trial_has_told_what_a_card_has_its_kind_does(wanted_probe, tmp_path, monkeypatch):
    monkeypatch.setattr(batch_probe, "estimate", lambda *_given, **_named: Prior(0.0, 1 << 30, 0.15))
    card = tmp_path / "sys/bus/pci/devices/0000:19:00.0"
    card.mkdir(parents=True)
    for name, text in {"vendor": "0x1da3", "device": "0x1060", "class": "0x120000"}.items():
        (card / name).write_text(f"{text}\n")
    wanted = wanted_probe(workload=Workload("m:f"), kernel_root=str(tmp_path), maximum=1024)
    assert (wanted.bounds.card_bytes, wanted.bounds.limit_bytes) == (128 << 30, None)
    first = batch_probe.decide(wanted, (), Prior(0.0, 1 << 30, 0.15))
    assert 96 <= first.batch_size <= 0.95 * 128 / 1.15


def test_each_step_makes_one_trial_and_tells_the_next_size(wanted_probe, trials):
    first = probe_step(wanted_probe())
    assert (first["batch_size"], first["cached"], len(trials)) == (None, False, 1)
    assert first["next"] == {"batch_size": 16, "why": "twice the size, since the memory's limit is not known"}


def test_an_interrupted_probe_goes_on_from_its_trials(wanted_probe, trials):
    probe_step(wanted_probe())
    probe_step(wanted_probe())
    assert [size for size, _ in trials] == [8, 16]
    assert probe(wanted_probe())["batch_size"] == 24
    assert [size for size, _ in trials] == [8, 16, 32, 24]


def test_with_another_key_it_begins_anew(wanted_probe, trials, tmp_path):
    probe_step(wanted_probe())
    (tmp_path / "environment").write_text("PT_HPU_LAZY_MODE=1\n")
    probe_step(wanted_probe())
    assert trials == [(8, "0"), (8, "1")]


def test_other_bounds_use_the_trials_that_are_known(wanted_probe, trials):
    probe(wanted_probe())
    assert probe(wanted_probe(maximum=24))["batch_size"] == 24
    assert len(trials) == 4


def test_only_another_answer_is_a_change(wanted_probe, trials):
    assert probe(wanted_probe())["changed"]
    again = probe(wanted_probe(), refresh=True)
    assert (again["changed"], again["cached"], again["diff"], len(trials)) == (False, False, [], 8)


def test_the_diff_shows_the_answer_before_and_after(wanted_probe, trials):
    (diff,) = probe(wanted_probe())["diff"]
    assert (diff["before"], diff["after"]) == ("", "batch_size: 24\n")


@pytest.mark.parametrize(
    "text", ["", "{broken", "[]", '{"trials": 3, "answers": {}}', '{"trials": [{}], "answers": {}}']
)
def test_a_damaged_log_is_put_aside_named_and_found_again(wanted_probe, trials, text):
    path = Path(probe(wanted_probe())["cache_file"])
    path.write_text(text)
    looked = probe(wanted_probe(), check_mode=True)
    assert "will be measured again" in looked["remarks"][0]
    assert path.read_text() == text
    step = probe_step(wanted_probe())
    assert f"{path} is damaged" in step["remarks"][0]
    (aside,) = path.parent.glob("*.bak")
    assert (aside.read_text(), str(aside) in step["remarks"][0]) == (text, True)
    assert probe(wanted_probe())["batch_size"] == 24
    assert len(trials) == 8


def test_a_log_with_what_never_was_a_trial_is_damaged(wanted_probe, trials):
    path = Path(probe(wanted_probe())["cache_file"])
    log = json.loads(path.read_text())
    log["trials"][0]["outcome"] = "crash"
    path.write_text(json.dumps(log))
    assert "is damaged" in probe(wanted_probe(), check_mode=True)["remarks"][0]


def test_a_size_of_an_equal_node_takes_one_trial_or_none(wanted_probe, trials):
    verified = probe(wanted_probe(verify=24))
    assert (verified["batch_size"], verified["verified"], verified["changed"]) == (24, True, True)
    again = probe(wanted_probe(verify=16))
    assert (again["batch_size"], again["why"], again["changed"]) == (16, "24 ran here", False)
    assert [size for size, _ in trials] == [24]


def test_where_it_does_not_run_the_search_goes_on_from_there(wanted_probe, trials):
    result = probe(wanted_probe(verify=32))
    assert (result["batch_size"], result["verified"], trials[0][0]) == (24, False, 32)


def test_the_smallest_of_the_fast_sizes(wanted_probe, monkeypatch):
    def run_trial(_workload, size, **_rest):
        seconds = 0.01 + size / 1000
        return Trial(size, "ok" if size <= 520 else "out_of_memory", 100 * size, seconds, limit_bytes=52500)

    monkeypatch.setattr(batch_probe, "run_trial", run_trial)
    largest = probe(wanted_probe(maximum=1024))["batch_size"]
    chosen = probe(wanted_probe(maximum=1024, objective="throughput"))["batch_size"]
    assert chosen < largest <= 520
    assert chosen / (0.01 + chosen / 1000) >= 0.98 * largest / (0.01 + largest / 1000)


def test_a_global_batch_is_made_of_the_answer(wanted_probe, trials):
    share = sharing(384, world_size=4, multiple_of=8, learning_rate=0.1, learning_rate_batch=96, scaling="linear")
    made = probe(wanted_probe(share=share))["global_batch"]
    assert (made["batch_size"], made["accumulation_steps"], made["learning_rate"]) == (24, 4, pytest.approx(0.4))


def test_a_global_batch_that_cannot_be_made_is_refused_before_any_trial(wanted_probe, trials):
    with pytest.raises(GaudiError, match="384 cannot be divided evenly by 5 cards; use 380 or 385"):
        probe(wanted_probe(share=sharing(384, world_size=5)))
    assert trials == []


def ends(outcome, message=""):
    """A card on which 8 runs, 16 runs out of memory, and any other size ends like this."""

    def run_trial(_workload, size, **_rest):
        return Trial(size, {8: "ok", 16: "out_of_memory"}.get(size, outcome), message=message)

    return run_trial


@pytest.mark.parametrize(
    ("outcome", "message", "said"),
    [
        (
            "crash",
            "signal SIGABRT. Last output: none",
            r"crashed, after 16 ran out of memory.*unusable \(signal SIGABRT\)",
        ),
        (
            "hang",
            "timed out after 30 s. Last output: step 1",
            r"did not finish within 30 s.*\(step 1\); raise timeout",
        ),
        (
            "workload_error",
            "ValueError: no data",
            "The workload m:f cannot be run with batch size 12: ValueError: no data;",
        ),
        ("workload_error", "workload m:f has no f; add it.", r"^Workload m:f has no f; add it\.$"),
    ],
)
def test_a_broken_trial_is_one_sentence_with_what_to_do(wanted_probe, monkeypatch, outcome, message, said):
    monkeypatch.setattr(batch_probe, "run_trial", ends(outcome, message))
    with pytest.raises(GaudiError, match=said) as caught:
        probe(wanted_probe(multiple_of=4, minimum=8))
    assert [trial["outcome"] for trial in caught.value.facts["trials"]] == ["ok", "out_of_memory", outcome]
    assert len(caught.value.facts["key"]) == 16


@pytest.mark.parametrize(("outcome", "left"), [("crash", 2), ("hang", 2), ("workload_error", 0)])
def test_after_a_crash_it_goes_on_and_after_a_wrong_workload_it_begins_anew(wanted_probe, monkeypatch, outcome, left):
    monkeypatch.setattr(batch_probe, "run_trial", ends(outcome))
    with pytest.raises(GaudiError) as caught:
        probe(wanted_probe(multiple_of=4, minimum=8))
    assert len(json.loads(Path(caught.value.facts["cache_file"]).read_text())["trials"]) == left


def test_a_workload_that_never_ran_leaves_no_file(wanted_probe, monkeypatch):
    monkeypatch.setattr(batch_probe, "run_trial", lambda _w, size, **_rest: Trial(size, "workload_error", message="no"))
    with pytest.raises(GaudiError) as caught:
        probe(wanted_probe())
    assert not Path(caught.value.facts["cache_file"]).exists()


def test_a_refusal_is_not_remembered(wanted_probe, monkeypatch):
    monkeypatch.setattr(batch_probe, "run_trial", lambda _w, size, **_rest: Trial(size, "out_of_memory"))
    with pytest.raises(GaudiError, match="Batch size 8, the smallest allowed"):
        probe(wanted_probe())
    monkeypatch.setattr(batch_probe, "run_trial", lambda _w, size, **_rest: Trial(size, "ok"))
    assert probe(wanted_probe())["batch_size"] == 64


def test_a_neighbor_on_the_card_is_named(wanted_probe, monkeypatch):
    def run_trial(_workload, size, **_rest):
        return Trial(size, "ok", 100 * size, 0.5, limit_bytes=100 << 30, used_by_others_bytes=2 << 30)

    monkeypatch.setattr(batch_probe, "run_trial", run_trial)
    assert probe(wanted_probe())["remarks"][0].startswith("Other processes used 2.00 GiB of the card's memory")
    # Also when the answer is only remembered.
    assert len(probe(wanted_probe())["remarks"]) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": Workload("no_function")}, "workload is 'no_function'; give module:function"),
        ({"workload": Workload("m:f", steps=0)}, "steps is 0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"venv": "/nowhere"}, "/nowhere/bin/python is missing; install the training stack"),
        ({"environment_files": ("/nowhere",)}, "/nowhere does not exist on this node"),
        ({"minimum": 65}, "minimum 65 is above maximum 64; swap them"),
        ({"target_hpu_utilization": 95}, "target_hpu_utilization is 95"),
        ({"maximum": 4}, "maximum 4 contains no multiple of 8"),
        ({"workload": Workload("m:f", processes=0)}, "processes is 0"),
        ({"verify": 12}, "verify is 12, which the bounds and multiple_of do not allow"),
    ],
)
def test_bad_input_is_refused_before_any_trial(wanted_probe, trials, changes, said):
    with pytest.raises(GaudiError, match=said):
        probe(wanted_probe(**changes))
    assert trials == []


def test_later_files_win_and_optional_ones_may_be_missing(tmp_path):
    (tmp_path / "a").write_text("A=1\nB=1\n")
    (tmp_path / "b").write_text('B="2 3"\n')
    files = (str(tmp_path / "a"), "-" + str(tmp_path / "missing"), "-" + str(tmp_path / "b"))
    assert read_environment(files, None) == {"A": "1", "B": "2 3"}


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("2GiB", 2 << 30), ("1.5 GiB", 3 << 29), (" 512MiB ", 512 << 20), ("3KiB", 3072)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "2GB", "GiB", "-1", "2 TiB", "1e9"])
def test_other_sizes_are_refused(text):
    with pytest.raises(GaudiError, match="memory_limit"):
        parse_size(text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights that another account lacks")
def test_a_file_of_the_accounts_shows_nothing_that_the_account_may_not_read(tmp_path):
    nobody = pwd.getpwnam("nobody")
    secret, home = tmp_path / "secret", tmp_path / "home"
    secret.write_text("A=root's\n")
    secret.chmod(0o600)
    home.mkdir()
    (home / "environment").symlink_to(secret)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(0o755)
    with pytest.raises(GaudiError, match="cannot be read as nobody"):
        read_environment((str(home / "environment"),), "nobody")
