# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real chrony: refused in a container as it is, installed and started where it may run, followed by the verdict.

It runs without touching the clock (``-x``), which a container may not set; node2 is the server of node1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("time")

DROP_IN = "/etc/systemd/system/chrony.service.d"
MAY_RUN = (
    f"mkdir -p {DROP_IN} && printf '[Unit]\\nConditionCapability=\\n[Service]\\nExecStart=\\n"
    f"ExecStart=!/usr/sbin/chronyd -F 1 -x\\n' > {DROP_IN}/sandbox.conf && systemctl daemon-reload"
)
CONFIGURE = "mkdir -p /etc/chrony/conf.d && printf '{lines}' > /etc/chrony/conf.d/test.conf"
REMOVE = f"apt-get purge -y -q chrony; rm -rf /etc/chrony /var/lib/chrony {DROP_IN}; systemctl daemon-reload"
# A pool of the internet answers nobody here, and would only be waited for.
SERVER, CLIENT = "allow\\nlocal stratum 8\\n", "server {address} iburst minpoll 0 maxpoll 1\\n"
FOLLOWS = "chronyc waitsync 60 0 0 1"


@pytest.fixture(scope="module")
def nodes() -> Iterator[dict[str, Host]]:
    found = {name: host for name, host in hosts().items() if name in ("node1", "node2")}
    yield found
    for host in found.values():
        host.run(REMOVE)


def converge(directory: Path) -> ansible_runner.Runner:
    return run(directory, "host", gaudi_host_time_sync="chrony")


def verdict(directory: Path, **options: object) -> dict[str, dict[str, Any]]:
    """Each node's row. The driver may not be there yet, so the verdict itself may be a failure."""
    task = {
        "gaudi3.scale.hpu_verify": {"release": "1.24.1", "cards": 8, "fail": False, "venv": "", **options},
    }
    play = {"hosts": "node1:node2", "become": True, "gather_facts": False, "tasks": [task]}
    done = run(directory, [play])
    rows = [event["event_data"] for event in done.events if event["event"] == "runner_on_ok"]
    return {row["host"]: row["res"] for row in rows}


def test_a_container_that_may_not_set_its_clock_is_told_so(nodes: dict[str, Host], tmp_path: Path) -> None:
    done = run(tmp_path, "host", arguments="--limit node1", gaudi_host_time_sync="chrony")
    assert done.status == "failed"
    assert "set time_sync to unmanaged there" in done.stdout.read()
    nodes["node1"].check_output(REMOVE)


def test_it_is_installed_and_runs_on_each_node(nodes: dict[str, Host], tmp_path: Path) -> None:
    address = nodes["node2"].check_output("hostname -I").split()[0]
    for name, lines in (("node1", CLIENT.format(address=address)), ("node2", SERVER)):
        nodes[name].check_output(MAY_RUN)
        nodes[name].check_output(CONFIGURE.format(lines=lines))
    done = converge(tmp_path)
    assert done.status == "successful", done.stdout.read()[-4000:]
    assert set(done.stats["changed"]) == {"node1", "node2"}
    for host in nodes.values():
        assert host.service("chrony").is_running
        assert host.service("chrony").is_enabled


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert converge(tmp_path).stats["changed"] == {}


def test_the_verdict_has_service_and_offset(nodes: dict[str, Host], tmp_path: Path) -> None:
    nodes["node1"].check_output(FOLLOWS)
    row = verdict(tmp_path)["node1"]["summary"]
    assert (row["clock_service"], row["clock_synchronized"]) == ("chrony.service", True)
    # Both containers have the clock of one machine.
    assert row["clock_offset_ms"] < 1000


@pytest.mark.long
def test_a_clock_that_nobody_sets_is_advice(nodes: dict[str, Host], tmp_path: Path) -> None:
    nodes["node1"].check_output("sed -i 's/server .*/server 192.0.2.1 iburst/' /etc/chrony/conf.d/test.conf")
    nodes["node1"].check_output("systemctl restart chrony")
    checks = {check["name"]: check for check in verdict(tmp_path)["node1"]["checks"]}
    assert not checks["clock"]["ok"]
    assert checks["clock"]["advice"]
    assert checks["clock"]["found"] == "not synchronized (chrony.service)"
    assert checks["clock offset"]["ok"]
