# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils import batch_probe
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_probe import (
    Probe,
    key,
    parse_size,
    probe,
    read_environment,
)
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError


@pytest.fixture
def question(tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
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


def test_the_answer_is_found_with_the_flags_of_the_job_then_remembered(question, trials):
    first = probe(question())
    assert trials == [(8, "0"), (16, "0"), (32, "0"), (24, "0")]
    assert (first["changed"], first["cached"], first["batch_size"]) == (True, False, 24)
    again = probe(question())
    assert (again["changed"], again["cached"], again["batch_size"]) == (False, True, 24)
    for name in ("trials", "certified", "within", "why"):
        assert again[name] == first[name]
    assert (first["certified"], first["why"]) == (True, "32 was tried and ran out of memory")
    assert len(trials) == 4


def test_where_the_limit_is_known_the_peaks_choose_the_next_size(question, trials):
    workload = Workload("m:f", {"width": 2}, device="cpu", memory_limit=2450)
    assert probe(question(workload=workload))["batch_size"] == 24
    assert len(trials) <= 3
    # It stands for a card's memory only where there is no card.
    assert question(workload=Workload("m:f", device="hpu", memory_limit=2450)).question.limit_bytes is None


def test_refresh_probes_again(question, trials):
    probe(question())
    assert probe(question(), refresh=True)["changed"]
    assert len(trials) == 8


def test_check_mode_probes_nothing_and_writes_nothing(question, trials, tmp_path):
    result = probe(question(), check_mode=True)
    assert (result["changed"], result["batch_size"], result["trials"]) == (True, None, [])
    assert trials == []
    assert not (tmp_path / "state").exists()
    probe(question())
    assert probe(question(), check_mode=True)["batch_size"] == 24


@pytest.mark.parametrize("text", ["", "{broken", "[]", '{"batch_size": "many", "trials": []}', '{"batch_size": 3}'])
def test_a_damaged_memory_is_found_again_and_written_anew(question, trials, text):
    path = Path(probe(question())["cache_file"])
    path.write_text(text)
    assert probe(question())["batch_size"] == 24
    assert len(trials) == 8
    assert json.loads(path.read_text())["batch_size"] == 24


def test_what_the_answer_depends_on_makes_another_key(question, tmp_path):
    site = tmp_path / "venv/lib/python3.11/site-packages"
    (site / "torch-2.11.0.dist-info").mkdir(parents=True)
    workload = Workload("m:f", {"width": 2}, device="cpu")
    before = key(question(), {"A": "1"})
    others = [
        key(question(), {"A": "2"}),
        key(question(maximum=32), {"A": "1"}),
        key(question(multiple_of=4), {"A": "1"}),
        key(question(minimum=8), {"A": "1"}),
        key(question(margin=0.02), {"A": "1"}),
        key(question(utilisation=0.9), {"A": "1"}),
        key(question(workload=Workload("m:f", {"width": 3}, device="cpu")), {"A": "1"}),
        key(question(workload=Workload("m:f", {"width": 2}, device="cpu", memory_limit=9)), {"A": "1"}),
    ]
    (site / "torch-2.11.0.dist-info").rename(site / "torch-2.12.0.dist-info")
    others.append(key(question(workload=workload), {"A": "1"}))
    assert len({before, *others}) == 10
    assert key(question(timeout=99), {"A": "1"}) == others[-1]


def test_a_failed_search_is_not_remembered(question, monkeypatch, tmp_path):
    monkeypatch.setattr(batch_probe, "run_trial", lambda _w, size, **_rest: Trial(size, "crash", message="boom"))
    with pytest.raises(GaudiError, match="crashed: boom"):
        probe(question())
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": Workload("no_function")}, "workload is 'no_function'; give module:function"),
        ({"workload": Workload("m:f", steps=0)}, "steps is 0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"venv": "/nowhere"}, "/nowhere/bin/python is missing; install the training stack"),
        ({"environment_files": ("/nowhere",)}, "there is no /nowhere on this node"),
        ({"minimum": 65}, "minimum 65 is above maximum 64; swap them"),
        ({"utilisation": 95}, "utilisation is 95"),
        ({"maximum": 4}, "maximum 4 holds no multiple of 8"),
    ],
)
def test_bad_input_is_refused_before_any_trial(question, trials, changes, said):
    with pytest.raises(GaudiError, match=said):
        probe(question(**changes))
    assert trials == []


def test_later_files_win_and_optional_ones_may_be_missing(tmp_path):
    (tmp_path / "a").write_text("A=1\nB=1\n")
    (tmp_path / "b").write_text('B="2 3"\n')
    files = (str(tmp_path / "a"), "-" + str(tmp_path / "missing"), "-" + str(tmp_path / "b"))
    assert read_environment(files) == {"A": "1", "B": "2 3"}


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("2GiB", 2 << 30), ("1.5 GiB", 3 << 29), (" 512MiB ", 512 << 20), ("3KiB", 3072)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "2GB", "GiB", "-1", "2 TiB", "1e9"])
def test_other_sizes_are_refused(text):
    with pytest.raises(GaudiError, match="memory_limit"):
        parse_size(text)
