# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs through a real Slurm: order, a rank killed, a stop, a preemption, a node lost. node1 is the controller."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from testinfra.host import Host

from sandbox.podman import podman
from tests.sandbox_nodes import SANDBOX, Played, run

from .jobs import IN_ORDER, KILL, assert_bound, reported, until, wait_for_ranks

Launch = Callable[..., Played]


def states(controller: Host, name: str) -> str:
    """Slurm's own words: state, how often it was started again, where it runs."""
    shown = controller.run(f"squeue --noheader --name=gaudi3-scale-job-{name} --format='%T|%N'").stdout
    return shown.strip()


def test_ranks_are_in_the_order_of_the_hosts_and_have_cards(
    nodes: dict[str, Host], controller: Host, launch: Launch
) -> None:
    options = {"gaudi_training_slurm": {"gres": "hpu"}, "gaudi_training_bind": "numa", "seconds": 10}
    begun = launch("order", "slurm", gaudi_training_follow=False, **options)
    assert begun.status == "successful", begun.screen
    wait_for_ranks(nodes, "order", IN_ORDER)
    assert_bound(nodes)
    assert "TresPerNode=gres:hpu:1" in controller.check_output("scontrol show job")
    followed = launch("order", "slurm", **options)
    assert (followed.status, followed.changed) == ("successful", 0), followed.screen
    # Slurm forgets a job. Where it is asked for, the end is known all the same.
    controller.check_output("echo MinJobAge=2 >> /etc/slurm/slurm.conf && scontrol reconfigure")
    try:
        forgotten = until(lambda: controller.check_output("scontrol show job"), lambda said: "No jobs" in said)
        assert "No jobs in the system" in forgotten
        again = launch("order", "slurm", **options)
    finally:
        controller.check_output("sed -i /^MinJobAge=2/d /etc/slurm/slurm.conf && scontrol reconfigure")
    assert (again.status, again.changed) == ("successful", 0), again.screen


@pytest.mark.long
@pytest.mark.usefixtures("controller")
def test_a_killed_rank_is_named_and_all_are_gone(nodes: dict[str, Host], launch: Launch) -> None:
    with ThreadPoolExecutor() as pool:
        following = pool.submit(launch, "killed", "slurm")
        wait_for_ranks(nodes, "killed", IN_ORDER)
        nodes["node1"].check_output(KILL)
        failed = following.result()
    assert "rank 1 on node1 failed first: killed by SIGKILL" in failed.messages[0]


@pytest.mark.long
def test_a_stop_tells_the_ranks_and_leaves_nothing(
    nodes: dict[str, Host], controller: Host, launch: Launch, stop: Callable[..., Played], tmp_path: Path
) -> None:
    assert launch("stopped", "slurm", gaudi_training_follow=False).status == "successful"
    wait_for_ranks(nodes, "stopped", IN_ORDER)
    flags = run(tmp_path, "explain_flags", gaudi_flags_explain_job="stopped", gaudi_report_target=str(tmp_path))
    assert flags.status == "successful", flags.stdout.read()
    assert stop("stopped", "slurm").status == "successful"
    assert reported(nodes, "stopped") == ["reported-0", "reported-1", "reported-2"]
    assert controller.check_output("squeue --noheader") == ""


# What a job does then with its checkpoint is in test_trainings.py.
@pytest.mark.long
def test_a_preempted_job_writes_a_checkpoint_and_goes_on(
    nodes: dict[str, Host], controller: Host, launch: Launch
) -> None:
    spot = "PartitionName=spot Nodes=node1,node2,node3 PriorityTier=0 PreemptMode=requeue GraceTime=60"
    controller.check_output(f"scontrol create {spot}")
    started = launch("preempted", "slurm", gaudi_training_slurm={"partition": "spot"}, gaudi_training_follow=False)
    assert started.status == "successful", started.screen
    wait_for_ranks(nodes, "preempted", IN_ORDER)
    controller.check_output("cd /tmp && sbatch --partition=gaudi --nodes=3 --exclusive --wrap 'sleep 1'")
    wait_for_ranks(nodes, "preempted", IN_ORDER, start="1")
    assert reported(nodes, "preempted") == ["reported-0", "reported-1", "reported-2"]
    # The configuration's partitions only; the job goes with its own.
    controller.check_output("scancel --user=gaudi && scancel --user=root")
    assert until(lambda: controller.check_output("squeue --noheader"), lambda said: not said) == ""
    controller.check_output("scontrol delete PartitionName=spot")


@pytest.mark.long
def test_the_place_of_a_lost_node_is_taken(nodes: dict[str, Host], controller: Host, launch: Launch) -> None:
    two = {"gaudi_training_hosts": ["node1", "node2"], "gaudi_training_slurm": {"nodes": "any"}}
    assert launch("lost", "slurm", gaudi_training_follow=False, **two).status == "successful"
    wait_for_ranks(nodes, "lost", {"node1": "0", "node2": "1"})
    podman("stop", "--time", "0", f"{SANDBOX}-node2")
    try:
        wait_for_ranks(nodes, "lost", {"node1": "0", "node3": "1"}, start="1")
        assert states(controller, "lost") == "RUNNING|node[1,3]"
    finally:
        podman("start", f"{SANDBOX}-node2")
    controller.check_output("scancel --user=gaudi && scancel --user=root")
    idle = until(lambda: controller.check_output("sinfo --noheader --nodes=node2 --format=%T"), "idle".__eq__)
    assert idle == "idle"
