# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the collector tells of batch-size probes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.log import ProbeLog, log_path, write_log
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import OK, OUT_OF_MEMORY, Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.probe_families import probe_families

FIELDS = {"workload": "gaudi3_scale.workloads:llama", "device": "hpu", "option layers": "2"}
TRIALS = (
    Trial(32, OK, peak_memory_bytes=60 << 30, step_seconds=0.4, limit_bytes=128 << 30),
    Trial(48, OK, peak_memory_bytes=96 << 30, step_seconds=0.5, limit_bytes=128 << 30, losses=(float("nan"),)),
    Trial(64, OUT_OF_MEMORY, limit_bytes=128 << 30),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "probe").mkdir()
    return tmp_path / "probe"


def probed(directory: Path, key: str, log: ProbeLog, fields: object = FIELDS) -> Path:
    path = Path(log_path(str(directory.parent), key))
    write_log(str(path), log, {"key": key, "fields": fields})
    return path


def told(directory: Path) -> list[str]:
    return [line for line in text_of(probe_families(str(directory))).splitlines() if not line.startswith("#")]


def test_the_answer_is_told_with_what_it_took(directory: Path) -> None:
    path = probed(directory, "0a1b", ProbeLog(TRIALS, {"largest of 1 to 256": 48}))
    os.utime(path, (1000, 1000))
    labels = '{key="0a1b",workload="gaudi3_scale.workloads:llama",device="hpu"}'
    assert told(directory) == [
        f"gaudi_probe_batch_size{labels} 48",
        f"gaudi_probe_memory_ratio{labels} 0.75",
        f"gaudi_probe_step_seconds{labels} 0.5",
        f"gaudi_probe_timestamp_seconds{labels} 1000",
    ]


def test_of_several_searches_the_one_that_tried_last_is_told(directory: Path) -> None:
    """An answer keeps its place in the file when its search is made once more."""
    log = ProbeLog().with_trial(TRIALS[1]).with_answer("largest of 1 to 256", 48)
    log = log.with_trial(TRIALS[0]).with_answer("largest of 1 to 32", 32)
    probed(directory, "0a1b", log)
    assert told(directory)[0].endswith(" 32")
    again = replace(TRIALS[1], peak_memory_bytes=64 << 30)
    log = log.with_trial(again).with_trial(TRIALS[2]).with_answer("largest of 1 to 256", 48)
    probed(directory, "0a1b", log)
    assert [line.rpartition(" ")[2] for line in told(directory)[:3]] == ["48", "0.5", "0.5"]


def test_a_probe_without_an_answer_is_none(directory: Path) -> None:
    probed(directory, "0a1b", ProbeLog(TRIALS))
    assert told(directory) == []


def test_nothing_was_probed(tmp_path: Path) -> None:
    assert told(tmp_path / "probe") == []


@pytest.mark.parametrize("text", ["", "[]", '{"answers": 3}', '{"fields": [], "answers": {}, "trials": []}', "\\0"])
def test_what_cannot_be_understood_hides_no_other(directory: Path, text: str) -> None:
    probed(directory, "0a1b", ProbeLog(TRIALS, {"largest": 48}))
    (directory / "broken.json").write_text(text)
    (directory / "link.json").symlink_to("/dev/zero")
    assert len(told(directory)) == 4


def test_the_newest_are_told(directory: Path) -> None:
    for number in range(25):
        path = probed(directory, f"{number:04}", ProbeLog(TRIALS, {"largest": 48}))
        os.utime(path, (number, number))
    sizes = [line for line in told(directory) if line.startswith("gaudi_probe_batch_size")]
    assert len(sizes) == 20 and not any('key="0004"' in line for line in sizes)
