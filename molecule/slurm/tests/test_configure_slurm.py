# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm takes its nodes, cards and health check from our files; a node that falls ill takes itself out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

from sandbox import cluster
from tests.sandbox_nodes import SANDBOX, fault, hosts, run

from .daemons import restart

SLURM, GRES = "/etc/slurm/slurm.conf", "/etc/slurm/gres.conf"
CHECK = "/etc/gaudi3_scale/slurm_health_check"
# A machine at a load of 30 took longer than 90 s.
INTERVAL, LATEST_SECONDS = 5, 300
# How `timeout` ends.
ITS_LIMIT_PASSED = 124


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def site(installed: Host, nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """node1, as an administrator leaves it: partitions name the nodes, and their lines come from an included file."""
    addresses = "\n".join(f"{node.address} {node.name}" for node in cluster.load(SANDBOX).nodes)
    for host in nodes.values():
        host.check_output(f"cp {SLURM} {SLURM}.site && cp {GRES} {GRES}.site && cp /etc/hosts /etc/hosts.site")
        host.check_output(f"printf '%s\\n' '{addresses}' >> /etc/hosts")
        host.check_output(f"sed -i -e /^NodeName=/d -e /^GresTypes=/d {SLURM}")
        host.check_output(f"echo Include /etc/slurm/gaudi3_scale.conf >> {SLURM}")
        host.check_output(f"echo Include /etc/slurm/gaudi3_scale_gres.conf > {GRES}")
    directory = tmp_path_factory.mktemp("runner")
    for changed in ({"node1", "node2"}, set()):
        # As the survey of a controller's template answers, where a truth is a text.
        done = run(directory, "configure_slurm", gaudi_slurm_interval=INTERVAL, gaudi_slurm_reconfigure="false")
        assert done.status == "successful", done.stdout.read()[-4000:]
        assert set(done.stats["changed"]) == changed
    restart(nodes)
    wait_for(installed, "node2", "IDLE")
    yield installed
    for host in nodes.values():
        host.check_output(f"mv {SLURM}.site {SLURM} && mv {GRES}.site {GRES} && cat /etc/hosts.site > /etc/hosts")
        host.check_output(f"rm -f /etc/hosts.site /etc/slurm/gaudi3_scale*.conf {CHECK} /etc/gaudi3_scale/nhc.conf")
    restart(nodes)
    wait_for(installed, "node2", "IDLE")


def shown(controller: Host, node: str) -> str:
    return controller.check_output(f"scontrol --oneliner show node {node}")


def wait_for(controller: Host, node: str, words: str) -> str:
    deadline = time.monotonic() + LATEST_SECONDS
    while words not in (found := controller.run(f"scontrol --oneliner show node {node}").stdout):
        assert time.monotonic() < deadline, found
        time.sleep(1)
    return found


def checked(node: Host) -> CommandResult:
    """What the health check finds; Slurm asks again, too, where a busy machine lets the check's own limit pass."""
    deadline = time.monotonic() + LATEST_SECONDS
    while (done := node.run(CHECK)).rc == ITS_LIMIT_PASSED and time.monotonic() < deadline:
        pass
    return done


def test_slurm_counts_the_cards_that_each_node_has_and_a_job_gets_some(site: Host) -> None:
    assert "Gres=hpu:8" in shown(site, "node2")
    job = "srun --nodelist=node2 --gres=hpu:3 sh -c 'scontrol --oneliner show job $SLURM_JOB_ID'"
    assert "TresPerNode=gres:hpu:3" in site.check_output(f"cd /tmp && {job}")
    assert site.run("cd /tmp && srun --nodelist=node2 --gres=hpu:9 true").rc != 0


@pytest.mark.in_turn
def test_a_node_that_loses_a_card_takes_itself_out_and_the_other_one_stays(site: Host, nodes: dict[str, Host]) -> None:
    assert nodes["node2"].run(f"{CHECK} --no-drain").rc == 0
    with fault("node2", "missing_card=3"):
        # A check that comes while the card goes sees its links or its verbs device go first.
        found = wait_for(site, "node2", "gaudi3_scale: health check: ")
        assert any(f"health check: {of}" in found for of in ("cards", "internal links", "verbs devices"))
        assert "DRAIN" in found
        # One of two nodes may be out by this; the next one says that it stays.
        with fault("node1", "hot_card=2"):
            done = checked(nodes["node1"])
            assert done.rc == 1, done
            assert "temperature: found 98 C" in done.stdout and "node1 is NOT taken out of service" in done.stdout
        assert "gaudi3_scale" not in shown(site, "node1")
    again = nodes["node2"].check_output(f"{CHECK} --resume")
    assert "node2 is in service again." in again
    assert "DRAIN" not in shown(site, "node2")


@pytest.mark.in_turn
@pytest.mark.parametrize("names", [["node1"], pytest.param(["DEFAULT", "ALL"], marks=pytest.mark.long)])
def test_a_node_that_calls_itself_as_another_one_writes_no_line(
    site: Host, nodes: dict[str, Host], tmp_path: Path, names: list[str]
) -> None:
    """Of a host that was taken over, whose slurmd says what it likes."""
    before = site.file("/etc/slurm/gaudi3_scale.conf").content_string
    slurmd = nodes["node2"].check_output("readlink -f $(command -v slurmd)")
    lying = f"#!/bin/sh\n[ $1 = -C ] && exec {slurmd}.own -C | sed s/NodeName=node2/NodeName=$(cat /run/as)/\n"
    nodes["node2"].check_output(f"mv {slurmd} {slurmd}.own && printf '{lying}' > {slurmd} && chmod 755 {slurmd}")
    try:
        for name in names:
            nodes["node2"].check_output(f"echo {name} > /run/as")
            done = run(tmp_path, "configure_slurm", gaudi_slurm_interval=INTERVAL)
            assert done.status == "failed"
            assert "nodes has" in done.stdout.read()
            assert site.file("/etc/slurm/gaudi3_scale.conf").content_string == before
    finally:
        nodes["node2"].check_output(f"mv {slurmd}.own {slurmd}; rm -f /run/as")


@pytest.mark.long
def test_what_a_person_has_drained_stays_so(site: Host, nodes: dict[str, Host]) -> None:
    site.check_output("scontrol update nodename=node2 state=drain reason='fan, ask Ada'")
    try:
        with fault("node2", "missing_card=3"):
            said = nodes["node2"].run(CHECK).stdout
        assert "out of service by somebody else (fan, ask Ada), and stays so" in said
        nodes["node2"].run(f"{CHECK} --resume")
        assert "Reason=fan, ask Ada" in shown(site, "node2")
    finally:
        site.check_output("scontrol update nodename=node2 state=resume")


@pytest.mark.long
@pytest.mark.usefixtures("site")
def test_a_failed_qualification_is_told_by_the_health_check_too(nodes: dict[str, Host]) -> None:
    verdict = "/var/lib/gaudi3_scale/qualify/verdict.json"
    failed = {"state": "unhealthy", "time": "2026-11-25T03:00:00Z", "reasons": ["functional: mismatch."]}
    host = nodes["node1"]
    host.check_output(f"mkdir -p $(dirname {verdict}) && echo '{json.dumps(failed)}' > {verdict}")
    try:
        done = host.run(f"{CHECK} --no-drain")
        assert (done.rc, "the qualification of 2026-11-25T03:00:00Z failed: functional" in done.stdout) == (1, True)
    finally:
        # slurmd may have looked meanwhile by itself, and drained the node.
        host.check_output(f"rm {verdict} && {CHECK} --resume")
