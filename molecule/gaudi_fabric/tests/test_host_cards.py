# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fabric over the host's InfiniBand or RoCE cards, without a libfabric of ours. The cards are in sysfs alone.

With one, which takes minutes to compile, is in test_host_nics.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ansible_runner
import pytest

from tests.sandbox_nodes import fault, hosts, run


@pytest.fixture(params=["infiniband", "roce"])
def provider(request: pytest.FixtureRequest) -> Iterator[str]:
    """A card of that kind in each node, and none afterwards."""
    with fault("node1", f"host_nic={request.param}"), fault("node2", f"host_nic={request.param}"):
        yield request.param


@pytest.fixture
def ports_again(tmp_path: Path) -> Iterator[None]:
    """The cards' own ports carry the traffic in the scenarios after this one."""
    yield
    assert run(tmp_path, "fabric").rc == 0


def answers(done: ansible_runner.Runner, module: str) -> dict[str, dict[str, object]]:
    """The last answer of a module on each node."""
    return {
        event["event_data"]["host"]: event["event_data"]["res"]
        for event in done.events
        if event["event"] == "runner_on_ok" and event["event_data"].get("task_action") == f"gaudi3.scale.{module}"
    }


@pytest.mark.usefixtures("ports_again")
def test_the_host_s_cards_carry_the_traffic_and_a_second_run_changes_nothing(provider: str, tmp_path: Path) -> None:
    first = run(tmp_path, "fabric", gaudi_fabric_provider=provider)
    assert first.rc == 0, first.stdout.read()[-4000:]
    found = {node: answer["fabric"]["provider"] for node, answer in answers(first, "hpu_fabric").items()}
    assert found == dict.fromkeys(hosts(), provider)
    second = run(tmp_path, "fabric", gaudi_fabric_provider=provider)
    assert (second.rc, second.stats["changed"]) == (0, {}), second.stdout.read()[-4000:]
