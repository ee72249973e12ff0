# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A served model is measured on its node, and what its answers cost; what cannot be measured is one message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

from .test_serving import CHAT, KEY, KEY_FILE, SERVING

pytestmark = pytest.mark.usefixtures("served")
SHORT: dict[str, Any] = {
    "gaudi_hosts": "node1",
    "gaudi_serving_input_tokens": 8,
    "gaudi_serving_output_tokens": 4,
    "gaudi_serving_requests": 20,
    "gaudi_serving_concurrency": [1, 4],
}


@pytest.fixture(scope="module")
def served(nodes: dict[str, Host], version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The version that node1 serves meanwhile."""
    from tests.small_trainings import play_in

    here = tmp_path_factory.mktemp("measured")
    nodes["node1"].check_output(f"umask 077; mkdir -p /etc/gaudi3_scale; echo {KEY} > {KEY_FILE}")
    started = play_in(here, "serving", **SERVING)
    assert started.status == "successful", started.screen
    yield version
    play_in(here, "serving", **{**SERVING, "gaudi_serving_state": "absent"})


def test_each_load_is_a_line_while_it_runs_and_a_row_of_the_page(play: Callable[..., Played], tmp_path: Path) -> None:
    measured = play("measure_serving", **SHORT, gaudi_report_target=str(tmp_path))
    assert measured.status == "successful", measured.screen
    assert measured.changed == 0
    assert "node1: 1 client: " in measured.screen and "node1: 4 clients: " in measured.screen
    kept = json.loads((tmp_path / "measure_serving.json").read_text(encoding="utf-8"))
    assert [(row["clients"], row["verdict"]) for row in kept["rows"]] == [(1, "ok"), (4, "ok")]
    assert "Serving of served, 8 + 4 tokens" in (tmp_path / "measure_serving.html").read_text(encoding="utf-8")
    assert KEY not in measured.screen


def test_the_highest_load_within_a_limit_is_found(play: Callable[..., Played], tmp_path: Path) -> None:
    limit = {"gaudi_serving_first_token_ms": 60_000, "gaudi_serving_highest": 2}
    measured = play("measure_serving", **SHORT, **limit, gaudi_report_target=str(tmp_path))
    assert measured.status == "successful", measured.screen
    assert "at least 2 clients at a time with p95 first token within 60,000 ms" in measured.screen


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gaudi_serving_name": "draft"}, "gaudi_serving_name: draft is no instance; those of this node: chat"),
        ({"gaudi_serving_output_tokens": 100_000}, "= 100008, but served is served with at most"),
        ({"gaudi_serving_url": "http://127.0.0.1:9"}, "127.0.0.1:9 does not say which models it serves"),
        ({"gaudi_serving_first_token_ms": 0.001}, "One client alone is above the limit."),
    ],
)
def test_what_cannot_be_measured_is_one_message(play: Callable[..., Played], given: dict[str, Any], words: str) -> None:
    refused = play("measure_serving", **{**SHORT, **given})
    assert refused.status == "failed"
    assert words in " ".join(refused.messages)
    assert CHAT["name"] == "chat"


LOG = "/var/lib/gaudi3_scale/exporter/serving"
# Ten minutes around now, of sixty tokens each, as the collector writes them where monitoring.yml has been played.
COUNTED = f"""
import json, os, time
os.makedirs({LOG!r}, exist_ok=True)
now = time.time()
for minute in range(-10, 11):
    at = now + 60 * minute
    line = {{"time": at, "servings": {{"chat": [1.0, 2400.0 + 240 * minute, 600.0 + 60 * minute]}}}}
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    with open(f"{LOG}/{{day}}.jsonl", "a") as file:
        file.write(json.dumps(line) + chr(10))
"""
COST: dict[str, Any] = {
    "gaudi_hosts": "node1",
    "gaudi_cost_serving": "chat",
    "gaudi_cost_hours": 0.05,
    "gaudi_cost_currency": "EUR",
    "gaudi_cost_node_hour": 16,
    "gaudi_cost_energy": False,
}


def test_what_its_answers_cost_is_told_where_it_was_counted_and_refused_where_not(
    play: Callable[..., Played], nodes: dict[str, Host], tmp_path: Path
) -> None:
    nodes["node1"].check_output(f"rm -rf {LOG}")
    refused = play("report_cost", **COST)
    assert "gaudi_cost_serving chat: its tokens are known for 0% of the last 0.05 h" in " ".join(refused.messages)
    nodes["node1"].check_output(f"python3 - <<'END'\n{COUNTED}\nEND")
    told = play("report_cost", **COST, gaudi_report_target=str(tmp_path))
    assert told.status == "successful", told.screen
    assert "per million tokens answered" in told.screen
    kept = json.loads((tmp_path / "report_cost.json").read_text(encoding="utf-8"))
    # One of eight cards for three minutes, and 180 tokens.
    assert kept["data"]["generated_tokens"] == pytest.approx(180, rel=0.01)
    assert kept["data"]["total"] == pytest.approx(16 * 0.05 / 8)
    nodes["node1"].check_output(f"rm -rf {LOG}")
