# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives over both nodes through the playbook: figures, a floor that is not reached, a misspelt name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sandbox_nodes import run

NAMES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]
FEW = {"gaudi_collectives_bytes": ["64K", "1M"], "gaudi_collectives_seconds": 0.05}


def test_five_collectives_over_both_nodes(tmp_path: Path) -> None:
    floors = {"all_reduce": 1e-9, "broadcast": 1e6}
    about = {**FEW, "gaudi_collectives_floors": floors, "gaudi_report_target": str(tmp_path)}
    done = run(tmp_path, "measure_collectives", **about)
    said = done.stdout.read()
    # The one floor that no network reaches is what fails.
    assert done.status == "failed", said[-4000:]
    assert "below the minimum of 1e+06." in said
    lines = json.loads((tmp_path / "measure_collectives.json").read_text())["data"]["lines"]
    assert [(line["collective"], line["bytes"]) for line in lines] == [
        (name, size) for name in NAMES for size in (65536, 1 << 20)
    ]
    assert {(line["nodes"], line["world_size"]) for line in lines} == {(2, 4)}
    # Each figure was on the screen before the table was.
    assert said.index("all_reduce of 65536 bytes") < said.index("Collectives over 4 ranks on 2 nodes")
    assert (tmp_path / "measure_collectives.html").is_file()


@pytest.mark.long
def test_what_ended_well_is_no_reason_not_to_measure_again(tmp_path: Path) -> None:
    again = run(tmp_path, "measure_collectives", gaudi_collectives_names=["all_reduce"], **FEW)
    assert again.status == "successful", again.stdout.read()[-4000:]
    once_more = run(tmp_path, "measure_collectives", gaudi_collectives_names=["all_reduce"], **FEW)
    assert "all_reduce of 1048576 bytes" in once_more.stdout.read()
    assert set(once_more.stats["changed"]) == set()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"floors": {"gossip": 1.0}}, "gaudi_collectives_floors names gossip, which gaudi_collectives_names does not"),
        ({"floors": {"broadcast": "fast"}}, "give floors as numbers of GB/s"),
        ({"bytes": ["64Q"]}, "the sizes are 8, 4M, 64Q; give floors as numbers of GB/s, and sizes as bytes"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_begins(
    options: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    given = {f"gaudi_collectives_{name}": value for name, value in options.items()}
    done = run(tmp_path, "measure_collectives", **given)
    assert done.status == "failed"
    assert sentence in " ".join(done.stdout.read().split())
    assert not [event for event in done.events if event["event_data"].get("task") == "Start on all hosts or none"]
