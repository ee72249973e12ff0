# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy nodes whose time is over: slow storage, shared cores, a controller that asks one after the other. None is
condemned, none of whom it is not known is qualified; and a rank that hangs is named.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import ready_for_jobs, run

SLOW, HANGS = "node2", "node3"
# What each import of PyTorch reads.
VERSION = "/opt/gaudi3_scale/venv/lib/python3*/site-packages/torch/version.py"
LOGS = "/var/log/gaudi3_scale/jobs/qualify-compute/ranks"
OPTION, START_OPTION = "gaudi_qualify_group_timeout", "gaudi_qualify_start_timeout"
# Of several ranks on one machine's cores one is late at times, and nothing here is about how fast they are.
ALONE = {"gaudi_qualify_stages": ["compute", "collectives"], "gaudi_qualify_tolerance": 0.99}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    return ready_for_jobs(tmp_path_factory.mktemp("layers"))


def qualified(directory: Path, arguments: str = "", **options: Any) -> dict[str, Any]:
    """What the report says; the playbook fails for an unhealthy node alone."""
    done = run(directory, "qualify_nodes", arguments=arguments, gaudi_report_target=str(directory), **options)
    report: dict[str, Any] = json.loads((directory / "qualify_nodes.json").read_text())
    bad = {name for name, node in report["data"]["nodes"].items() if node["state"] == "unhealthy"}
    assert set(done.stats["failures"]) == bad, done.stdout.read()[-4000:]
    return report


def states(report: dict[str, Any]) -> dict[str, str]:
    return {name: node["state"] for name, node in report["data"]["nodes"].items()}


@pytest.fixture
def slow_libraries(nodes: dict[str, Host]) -> Iterator[None]:
    """Who imports PyTorch is held up, as by a server from which its files come slowly: an agent, then its ranks."""
    nodes[SLOW].check_output(f"echo 'import time; time.sleep(45)  # slow storage' >> $(echo {VERSION})")
    yield
    nodes[SLOW].check_output(f"sed -i '/# slow storage$/d' {VERSION}")


@pytest.mark.long
@pytest.mark.usefixtures("slow_libraries")
def test_a_node_whose_libraries_load_slowly_is_not_told_and_not_condemned(tmp_path: Path) -> None:
    chosen = ["node1", SLOW, "node4"]
    # The others start in a part of that; on the slow one an agent and its ranks need a minute and a half.
    report = qualified(tmp_path, **ALONE, gaudi_qualify_hosts=chosen, gaudi_qualify_start_timeout=70)
    assert states(report) == {"node1": "healthy", SLOW: "inconclusive", "node4": "healthy"}, report["notes"]
    assert report["data"]["nodes"][SLOW]["action"] == "again"
    assert f"the 70 s of {START_OPTION} were over: they had not started on {SLOW}." in report["data"]["left_out"][SLOW]
    assert report["data"]["hosts"] == ["node1", "node4"]
    assert report["exit_code"] == 2


@pytest.mark.long
@pytest.mark.usefixtures("slow_libraries")
def test_the_time_to_measure_begins_when_all_ranks_run(tmp_path: Path) -> None:
    """A minute and a half to start, and a minute to measure: in all it is more than the minute."""
    limits = {OPTION: 60, START_OPTION: 300}
    report = qualified(tmp_path, **ALONE, **limits, gaudi_qualify_hosts=["node1", SLOW])
    assert states(report) == {"node1": "healthy", SLOW: "healthy"}, report["notes"]
    assert report["data"]["seconds"]["compute"] > 60


@pytest.fixture
def busy(nodes: dict[str, Host]) -> Iterator[None]:
    """Two programs that take all of a core each, beside the ranks."""
    for node in nodes.values():
        node.check_output("systemd-run --unit busy sh -c 'while :; do :; done'")
    yield
    for node in nodes.values():
        node.check_output("systemctl stop busy")


@pytest.mark.long
@pytest.mark.usefixtures("busy")
def test_five_healthy_nodes_that_share_their_cores_are_not_condemned_by_a_limit_that_is_too_short(
    nodes: dict[str, Host], tmp_path: Path
) -> None:
    # In two seconds no rank ends, or one does by chance; a quarter of them is less than any needs.
    given = {**ALONE, OPTION: 2, START_OPTION: 300}
    report = qualified(tmp_path, **given)
    assert "unhealthy" not in states(report).values(), report["notes"]
    for node, state in states(report).items():
        assert state == "healthy" or f"with a larger {OPTION}" in report["data"]["left_out"][node]
    assert {*states(report)} == {*nodes}


@pytest.mark.long
def test_a_controller_that_asks_one_node_at_a_time_finds_them_as_they_are(tmp_path: Path) -> None:
    """The last is asked when its ranks have waited for the first, or have ended."""
    chosen = ["node1", "node4", "node5"]
    stages = ["collectives", "pairs"]
    given = {**ALONE, "gaudi_qualify_stages": stages, "gaudi_qualify_hosts": chosen}
    report = qualified(tmp_path, "--forks 1", **given, gaudi_qualify_pair_rounds=1)
    assert "unhealthy" not in states(report).values(), report["notes"]
    assert {node["stages"]["collectives"]["state"] for node in report["data"]["nodes"].values()} == {"passed"}


@pytest.fixture
def hanging_rank(nodes: dict[str, Host]) -> Iterator[None]:
    """Whose processes are stopped once they all measure, as a card that answers no more leaves them."""
    ranks = f"ls -d {LOGS}/*/attempt_0/* 2>/dev/null | wc -l"
    measure = f"grep -ls measuring {LOGS}/*/attempt_0/*/reached.jsonl | wc -l"
    # A rank that was stopped before has told nothing, and then nobody could tell what its card does.
    wait = f"until n=$({ranks}); [ $n -gt 0 ] && [ $({measure}) -eq $n ]; do sleep 0.05; done"
    stop = "exec pkill -STOP -f 'gaudi3_scale[.]compute'"
    nodes[HANGS].check_output(f"rm -rf {LOGS}")
    # systemd would take a dollar for a variable of its own.
    script = shlex.quote(f"{wait}; {stop}".replace("$", "$$"))
    nodes[HANGS].check_output(f"systemd-run --unit hangs sh -c {script}")
    yield
    nodes[HANGS].run("systemctl stop hangs; pkill -CONT -f 'gaudi3_scale[.]compute'")


@pytest.mark.long
@pytest.mark.usefixtures("hanging_rank")
def test_a_rank_that_hangs_on_one_node_of_five_is_named_by_comparison(nodes: dict[str, Host], tmp_path: Path) -> None:
    report = qualified(tmp_path, **ALONE, **{OPTION: 160, START_OPTION: 200})
    assert states(report) == {**dict.fromkeys(nodes, "healthy"), HANGS: "unhealthy"}, report["notes"]
    assert "4 of 5 nodes finished the same in at most" in report["data"]["left_out"][HANGS]
    assert report["data"]["nodes"][HANGS]["action"] == "isolate"
