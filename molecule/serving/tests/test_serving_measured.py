# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A served model is measured on its node: loads by name, the highest that meets a limit, and what cannot be measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

from .test_serving import CHAT, KEY, KEY_FILE, SERVING

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


def test_each_load_is_a_line_while_it_runs_and_a_row_of_the_page(
    play: Callable[..., Played], served: str, tmp_path: Path
) -> None:
    measured = play("measure_serving", **SHORT, gaudi_report_target=str(tmp_path))
    assert measured.status == "successful", measured.screen
    assert measured.changed == 0
    assert "node1: 1 client: " in measured.screen and "node1: 4 clients: " in measured.screen
    kept = json.loads((tmp_path / "measure_serving.json").read_text(encoding="utf-8"))
    assert [(row["clients"], row["verdict"]) for row in kept["rows"]] == [(1, "ok"), (4, "ok")]
    assert "Serving of served, 8 + 4 tokens" in (tmp_path / "measure_serving.html").read_text(encoding="utf-8")
    assert KEY not in measured.screen


def test_the_highest_load_within_a_limit_is_found(play: Callable[..., Played], served: str, tmp_path: Path) -> None:
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
def test_what_cannot_be_measured_is_one_message(
    play: Callable[..., Played], served: str, given: dict[str, Any], words: str
) -> None:
    refused = play("measure_serving", **{**SHORT, **given})
    assert refused.status == "failed"
    assert words in " ".join(refused.messages)
    assert CHAT["name"] == "chat"
