# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm as AWS ParallelCluster and builds from source have it: all of it below /opt/slurm, told by its units.

No program of it is on a search path, nothing is in /etc/slurm, lines of slurm.conf go on, and cards have another name.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_cards import take_allotted
from testinfra.host import Host

from sandbox import cluster
from tests.sandbox_nodes import SANDBOX, hosts, run
from tests.slurm_gres import wait_for_files

from .daemons import restart

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("site")

HOME, CHECK = "/opt/slurm", "/etc/gaudi3_scale/slurm_health_check"
KERNEL = "/var/lib/gaudi_simulator/kernel"
CLIENTS = ("sinfo", "squeue", "scontrol", "sbatch", "srun", "scancel", "sacct")
AROUND = f"PATH={HOME}/bin:$PATH SLURM_CONF={HOME}/etc/slurm.conf"
# A machine at a load of 30 took longer than 90 s.
LATEST_SECONDS = 300
# The distribution's programs look in /etc/slurm by themselves, as those of such a site do below /opt/slurm.
MOVE = f"""
set -e
mkdir -p {HOME}/bin {HOME}/sbin
cp -a /etc/slurm {HOME}/etc
mv /etc/slurm /etc/slurm.of.the.distribution
for program in {" ".join(CLIENTS)}; do mv /usr/bin/$program {HOME}/bin/; done
for daemon in slurmd slurmctld; do
  [ -e /usr/sbin/$daemon ] || continue
  mv /usr/sbin/$daemon {HOME}/sbin/
  printf '%s\\n' '[Unit]' ConditionPathExists= '[Service]' ExecStart= "ExecStart={HOME}/sbin/$daemon -D" \\
    EnvironmentFile=-/etc/default/slurm.of.a.site > /etc/systemd/system/$daemon.service.d/zz-site.conf
done
echo SLURM_CONF={HOME}/etc/slurm.conf > /etc/default/slurm.of.a.site
cd {HOME}/etc
sed -i -e /^NodeName=/d -e /^GresTypes=/d slurm.conf
printf '%s\\n' 'grestypes=gpu,\\' gaudi 'Include {HOME}/etc/gaudi3_scale.conf' >> slurm.conf
echo include gaudi3_scale_gres.conf > gres.conf
systemctl daemon-reload
"""
BACK = f"""
set -e
for program in {" ".join(CLIENTS)}; do mv {HOME}/bin/$program /usr/bin/; done
for daemon in slurmd slurmctld; do
  [ -e {HOME}/sbin/$daemon ] || [ -L {HOME}/sbin/$daemon ] || continue
  mv {HOME}/sbin/$daemon /usr/sbin/
done
rm -f /etc/systemd/system/slurm*.service.d/zz-site.conf /etc/default/slurm.of.a.site {CHECK} /etc/gaudi3_scale/nhc.conf
mv /etc/slurm.of.the.distribution /etc/slurm
rm -rf {HOME} /var/tmp/cards
systemctl daemon-reload
"""


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


def shown(controller: Host, node: str, around: str = AROUND) -> str:
    return controller.run(f"{around} scontrol --oneliner show node {node}").stdout


def started(controller: Host, node: str) -> str:
    """When the node's slurmd has begun, as Slurm knows it; empty where it does not answer."""
    return "".join(re.findall(r"SlurmdStartTime=([0-9]\S*)", shown(controller, node)))


def wait_for(controller: Host, node: str, words: str, around: str = AROUND) -> str:
    deadline = time.monotonic() + LATEST_SECONDS
    while words not in (found := shown(controller, node, around)):
        assert time.monotonic() < deadline, found
        time.sleep(1)
    return found


def resume_all(controller: Host, nodes: dict[str, Host]) -> None:
    """Slurm drains a node at the first registration with fewer cards than are configured, and lifts no drain itself."""
    deadline = time.monotonic() + LATEST_SECONDS
    for name in nodes:
        while "State=IDLE " not in (found := shown(controller, name, around="")):
            assert time.monotonic() < deadline, found
            controller.run(f"scontrol update nodename={name} state=resume")
            time.sleep(2)


@pytest.fixture(scope="module")
def site(installed: Host, nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """node1, which controls, after the role has run twice there and on the others."""
    addresses = "\n".join(f"{node.address} {node.name}" for node in cluster.load(SANDBOX).nodes)
    for host in nodes.values():
        host.check_output(f"cp /etc/hosts /etc/hosts.site && printf '%s\\n' '{addresses}' >> /etc/hosts")
        host.check_output(MOVE)
    directory = tmp_path_factory.mktemp("runner")
    try:
        for changed in (set(nodes), set()):
            done = run(directory, "configure_slurm", gaudi_slurm_reconfigure="false")
            assert done.status == "successful", done.stdout.read()[-4000:]
            assert set(done.stats["changed"]) == changed
        restart(nodes)
        wait_for(installed, "node2", "IDLE")
        yield installed
    finally:
        for host in nodes.values():
            host.check_output(BACK)
            host.check_output("cat /etc/hosts.site > /etc/hosts && rm -f /etc/hosts.site")
        restart(nodes)
        resume_all(installed, nodes)


def test_slurm_below_opt_gets_its_cards_by_the_site_s_name(site: Host) -> None:
    assert "Gres=gaudi:8" in shown(site, "node2")
    written = site.file(f"{HOME}/etc/gaudi3_scale.conf").content_string
    assert "GresTypes" not in written
    assert "Name=gaudi " in site.file(f"{HOME}/etc/gaudi3_scale_gres.conf").content_string
    assert not site.file("/etc/slurm").exists


@pytest.mark.usefixtures("site")
def test_slurm_reads_its_configuration_again_by_its_own_scontrol(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("again")
    done = run(directory, "configure_slurm", gaudi_slurm_interval=7, gaudi_slurm_reconfigure="true")
    assert done.status == "successful", done.stdout.read()[-4000:]


def test_the_health_check_and_drains_find_slurm_too(
    site: Host, nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory
) -> None:
    checked = nodes["node2"].run(f"{CHECK} --no-drain")
    assert checked.rc == 0, checked.stdout
    assert f"--setenv=SLURM_CONF={HOME}/etc/slurm.conf" in nodes["node2"].file(CHECK).content_string
    directory = tmp_path_factory.mktemp("drain")
    about = {"gaudi_quarantine_node": "node2", "gaudi_quarantine_drain": "slurm"}
    try:
        out = run(directory, "quarantine_node", **about)
        assert out.status == "successful", out.stdout.read()[-4000:]
        assert "DRAIN" in shown(site, "node2")
    finally:
        back = run(directory, "quarantine_node", gaudi_quarantine_state="released", **about)
    assert back.status == "successful", back.stdout.read()[-4000:]
    assert "DRAIN" not in wait_for(site, "node2", "IDLE")


TAKEN = "\n".join([*take_allotted(2, "gaudi", KERNEL), 'echo "modules $HABANA_VISIBLE_MODULES"'])
JOB = f"cd /tmp && {AROUND} srun --nodelist=node2 --gres=gaudi:2 sh -c {shlex.quote(TAKEN)}"


def test_a_job_of_cards_that_are_only_counted_is_refused_with_the_reason(site: Host) -> None:
    done = site.run(JOB)
    assert done.rc != 0
    assert "node2: this job has 2 of 8 cards and may share the node, and Slurm does not say which" in done.stderr


def test_a_job_of_fewer_cards_takes_the_modules_behind_its_devices(site: Host, nodes: dict[str, Host]) -> None:
    """A device's index is not its module id, and a second job gets other ones."""
    cards = "mkdir -p /var/tmp/cards && for n in 0 1 2 3 4 5 6 7; do ln -sfn /dev/null /var/tmp/cards/accel$n; done"
    named = f"sed -i 's#Count=8#File=/var/tmp/cards/accel[0-7]#' {HOME}/etc/gaudi3_scale_gres.conf"
    for host in nodes.values():
        host.check_output(f"{cards} && {named}")
    before = started(site, "node2")
    restart(nodes)
    # Until its slurmd has told what it has by now, Slurm knows of the cards what it knew before.
    deadline = time.monotonic() + LATEST_SECONDS
    while started(site, "node2") in (before, ""):
        assert time.monotonic() < deadline, shown(site, "node2")
        time.sleep(1)
    # A node that is there may have told the number of its cards alone by now.
    wait_for_files(site, "node2", "gaudi", LATEST_SECONDS, AROUND)
    wait_for(site, "node2", "IDLE")
    places = [f"{KERNEL}/sys/class/accel/accel{device}/device/module_id" for device in range(4)]
    known = [nodes["node2"].check_output(f"cat {place}") for place in places]
    assert site.check_output(JOB) == f"modules {known[0]},{known[1]}"
    holding = f"cd /tmp && {AROUND} sbatch --parsable --nodelist=node2 --gres=gaudi:2 --wrap 'sleep 60'"
    number = site.check_output(holding)
    try:
        deadline = time.monotonic() + LATEST_SECONDS
        while site.check_output(f"{AROUND} squeue --noheader --job={number} --format=%T") != "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(1)
        assert site.check_output(JOB) == f"modules {known[2]},{known[3]}"
    finally:
        site.check_output(f"{AROUND} scancel {number}")
