# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""hccl_demo's words in our lines, from a program in its place that prints what its source prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gaudi3_scale.collectives.hccl_demo import measure_by_hccl_demo
from gaudi3_scale.core._errors import GaudiError

# It notes how it was called.
PROGRAM = """import json, os, sys
with open("calls", "a") as calls:
    calls.write(json.dumps([sys.argv[1:], os.environ["HCCL_COMM_ID"]]) + "\\n")
print("[BENCHMARK] hcclAllReduce(dataSize=33554432, count=8388608, dtype=float, iterations=1000)")
{ending}
"""
TOLD = 'print("[BENCHMARK]     NW Bandwidth   : {} {}B/s\\n[BENCHMARK]     Algo Bandwidth : 1 {}B/s")'


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first of two nodes."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "10.0.0.1")
    return tmp_path


def measured(node: Path, ending: str, *more: str) -> list[dict[str, object]]:
    (node / "run_hccl_demo.py").write_text(PROGRAM.format(ending=ending))
    lines = node / "lines"
    measure_by_hccl_demo(
        ["--directory", str(node), "--ranks-per-node", "8", "--bytes", "32M", "--metrics", str(lines), *more]
    )
    return [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []


def test_its_bandwidth_is_our_busbw_and_the_rest_follows(node: Path) -> None:
    (line,) = measured(node, TOLD.format("258.209121", "G", "G"), "--collectives", "all_reduce")
    assert (line["kind"], line["world_size"], line["nodes"], line["bytes"]) == ("collective", 16, 2, 1 << 25)
    assert line["busbw_gb_per_s"] == pytest.approx(258.209121)
    assert line["algbw_gb_per_s"] == pytest.approx(258.209121 / (2 * 15 / 16))
    assert line["seconds"] == pytest.approx((1 << 25) / (258.209121e9 / (2 * 15 / 16)))
    arguments, meeting = json.loads((node / "calls").read_text())
    assert meeting == "10.0.0.1:5555"
    assert arguments[:8] == ["--nranks", "16", "--ranks_per_node", "8", "--node_id", "0", "--test", "all_reduce"]
    assert arguments[8:10] == ["--size", str(1 << 25)]


def test_an_old_build_tells_megabytes(node: Path) -> None:
    (line,) = measured(node, TOLD.format("258209.121", "M", "M"), "--collectives", "all_reduce")
    assert line["busbw_gb_per_s"] == pytest.approx(258.209121)


def test_its_all_gather_counts_what_a_rank_gives(node: Path) -> None:
    lines = measured(node, TOLD.format("37", "G", "G"), "--collectives", "all_gather", "all_to_all")
    assert [line["bytes"] for line in lines] == [1 << 25, 1 << 25]
    calls = [json.loads(call)[0] for call in (node / "calls").read_text().splitlines()]
    assert [call[call.index("--size") + 1] for call in calls] == [str((1 << 25) // 16), str(1 << 25)]
    assert [call[call.index("--test") + 1] for call in calls] == ["all_gather", "all2all"]


def test_only_the_first_node_tells(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert measured(node, "pass", "--collectives", "broadcast") == []
    assert json.loads((node / "calls").read_text())[0][5] == "1"


FAILURES = [
    ("pass", [], "reported no NW Bandwidth for all_reduce of 33554432 bytes"),
    ("print('Exiting HCCL demo with code: 1'); sys.exit(1)", [], "with 1 on node 0: .*Exiting HCCL demo with code: 1"),
    ("import time; time.sleep(30)", ["--timeout", "1"], "did not finish all_reduce of 33554432 bytes within 1 s"),
]


@pytest.mark.parametrize(("ending", "more", "sentence"), FAILURES)
def test_a_failure_is_one_sentence(node: Path, ending: str, more: list[str], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        measured(node, ending, "--collectives", "all_reduce", *more)


def test_it_has_to_be_there_and_alone_on_its_node(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GaudiError, match=r"no run_hccl_demo\.py there; clone and build hccl_demo on each node"):
        measure_by_hccl_demo(["--directory", str(node / "none"), "--ranks-per-node", "8"])
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(GaudiError, match="give torchrun --nproc-per-node 1"):
        measured(node, "pass")
