# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job on watched nodes: its energy is what the cards said, and its cost is made of that."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_jobs import wait_for
from tests.sandbox_nodes import Played

# Minutes, since a node keeps its energy once a minute.
pytestmark = pytest.mark.long
LINES = "cat /var/lib/gaudi3_scale/exporter/energy/*.jsonl"


@pytest.fixture
def watched(play: Callable[..., Played]) -> Iterator[None]:
    begun = play("monitoring", gaudi_exporter_interval=5)
    assert begun.status == "successful", begun.screen
    yield
    ended = play("monitoring", gaudi_exporter_state="absent")
    assert ended.status == "successful", ended.screen


@pytest.mark.usefixtures("watched")
def test_the_energy_of_a_job_is_what_its_cards_took(
    play: Callable[..., Played], nodes: dict[str, Host], reports: Path
) -> None:
    def noted(host: Host) -> float:
        return float(json.loads(host.check_output(LINES).splitlines()[-1])["time"])

    for host in nodes.values():
        wait_for("a first line", lambda: host.run(LINES).stdout)  # noqa: B023, at once
    launched = play("launch_training", gaudi_training_name="paid", gaudi_training_max_steps=400)
    assert launched.status == "successful", launched.screen
    over = time.time()
    for host in nodes.values():
        wait_for("a line after its end", lambda: noted(host) > over)  # noqa: B023, at once
    prices = {"gaudi_cost_currency": "EUR", "gaudi_cost_node_hour": 36.0, "gaudi_cost_kwh": 0.2}
    told = play("report_cost", gaudi_cost_job="paid", gaudi_report_target=str(reports), **prices)
    assert (told.status, told.changed) == ("successful", 0), told.screen
    data = json.loads((reports / "report_cost.json").read_text())["data"]
    assert data["energy_gap"] < 0.05
    # Simulated cards that do nothing take some 226 W each.
    assert 200 < data["kwh"] * 3.6e6 / (data["seconds"] * 16) < 300
    assert data["total"] == pytest.approx(2 * 36 * data["seconds"] / 3600 + 0.2 * data["kwh"])
