# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in trainer through a real Slurm and a real mpirun: interrupted, and on from where it was."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from testinfra.host import Host

from sandbox.podman import podman
from tests.sandbox_nodes import SANDBOX, Played

from .jobs import until
from .trainings import CHECKPOINT_EVERY, STEPS, checkpoints, lines, losses, of_kind, wait_for_step

Train = Callable[..., Played]
Losses = list[tuple[int, float]]


@pytest.mark.long
def test_a_preempted_training_goes_on_from_the_step_where_it_stopped(
    nodes: dict[str, Host], controller: Host, train: Train, expected: Losses
) -> None:
    spot = "PartitionName=spot Nodes=node1,node2,node3 PriorityTier=0 PreemptMode=requeue GraceTime=60"
    controller.check_output(f"scontrol create {spot}")
    on_spot = {"partition": "spot"}
    with ThreadPoolExecutor() as pool:
        following = pool.submit(train, "preempted-training", "slurm", "node3", "node1", gaudi_training_slurm=on_spot)
        wait_for_step(nodes["node3"], "preempted-training", 10, following)
        controller.check_output("cd /tmp && sbatch --partition=gaudi --nodes=3 --exclusive --wrap 'sleep 1'")
        followed = following.result()
    controller.check_output("scontrol delete PartitionName=spot")
    assert followed.status == "successful", followed.screen
    reported = lines(nodes["node3"], "preempted-training")
    (stopped,) = of_kind(reported, "stopped")
    assert stopped["step"] in [line["step"] for line in of_kind(reported, "checkpoint")]
    assert [line["resumed_from"] for line in of_kind(reported, "start")] == [None, stopped["step"]]
    # Each step once, and each with the loss that it would have had.
    assert losses(reported) == expected
    assert "Slurm has the job as PENDING" in followed.screen


# The step where it goes on is the same code as above, and the lost node's place is taken in test_slurm.py.
@pytest.mark.long
def test_a_training_goes_on_with_another_node_where_one_was_lost(
    nodes: dict[str, Host], controller: Host, train: Train, expected: Losses
) -> None:
    with ThreadPoolExecutor() as pool:
        following = pool.submit(
            train, "lost-training", "slurm", "node1", "node2", gaudi_training_slurm={"nodes": "any"}
        )
        wait_for_step(nodes["node1"], "lost-training", 3 * CHECKPOINT_EVERY, following)
        podman("stop", "--time", "0", f"{SANDBOX}-node2")
        try:
            followed = following.result()
        finally:
            podman("start", f"{SANDBOX}-node2")
    assert followed.status == "successful", followed.screen
    reported = lines(nodes["node1"], "lost-training")
    first, again = of_kind(reported, "start")
    assert (first["nodes"], again["nodes"]) == (2, 2)
    at = reported.index(again)
    lost, resumed = losses(reported[:at])[-1][0], again["resumed_from"]
    # One checkpoint may have been under way as the node went.
    assert 0 < resumed <= lost < resumed + 2 * CHECKPOINT_EVERY
    assert losses(reported[:at]) == expected[:lost]
    assert losses(reported[at:]) == expected[resumed:]
    # The node that took the place got what its peer had kept. No launch has prepared it, so it keeps it at home.
    assert checkpoints(nodes["node3"], "lost-training", "/var/lib/gaudi/gaudi3_scale")[-1] == STEPS
    assert "Slurm has the job as PENDING" in followed.screen
    idle = until(lambda: controller.check_output("sinfo --noheader --nodes=node2 --format=%T"), "idle".__eq__)
    assert idle == "idle"


@pytest.mark.long
def test_a_training_that_was_stopped_goes_on_where_it_is_launched_again(
    nodes: dict[str, Host], train: Train, stop: Callable[..., Played], expected: Losses
) -> None:
    begun = train("stopped-training", "mpirun", "node2", "node3", gaudi_training_follow=False)
    assert begun.status == "successful", begun.screen
    wait_for_step(nodes["node2"], "stopped-training", 10)
    assert stop("stopped-training", "mpirun").status == "successful"
    reported = lines(nodes["node2"], "stopped-training")
    (stopped,) = of_kind(reported, "stopped")
    assert checkpoints(nodes["node2"], "stopped-training")[-1] == stopped["step"]
    followed = train("stopped-training", "mpirun", "node2", "node3")
    assert followed.status == "successful", followed.screen
    # A launch puts the logs of the run before away.
    reported += lines(nodes["node2"], "stopped-training")
    assert [line["resumed_from"] for line in of_kind(reported, "start")] == [None, stopped["step"]]
    assert losses(reported) == expected
