# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two jobs of four cards on one node of a real Slurm, side by side, which end one after the other.

Slurm hands out the cards by the files of gres.conf; a rank opens the device of the module that it was given, as the
vendor's bridge does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_jobs import KERNEL, OPENS_ITS_CARD
from tests.sandbox_nodes import Played
from tests.slurm_gres import wait_for_files

from .jobs import play, until

NODE = "node2"
CARDS, HALF = 8, 4
GRES = "/etc/slurm/gres.conf"
# For Slurm any device file counts, and a container may make none.
FILES = "/var/tmp/cards"
SCRIPT = "/var/tmp/engines/part.py"
# Each rank keeps its process and its last step in a file that is named after its module.
PROGRAM = f"""
{OPENS_ITS_CARD}
import pathlib, signal, time
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
place = pathlib.Path("/var/tmp/engines", os.environ["GAUDI3_SCALE_JOB"])
place.mkdir(exist_ok=True)
step = 0
while not ended and step < 5000:
    time.sleep(0.2)
    step += 1
    new = place / f"new-{{module}}"
    new.write_text(f"{{module}} {{os.getpid()}} {{step}}\\n")
    new.rename(place / f"rank-{{module}}")
"""
Launch = Callable[..., Played]
# Module -> process and last step.
Ranks = dict[int, tuple[int, int]]


def ranks(node: Host, job: str) -> Ranks:
    """What the ranks of a job have written, also where they have ended since."""
    lines = node.run(f"cat /var/tmp/engines/{job}/rank-*").stdout.splitlines()
    return {int(module): (int(process), int(step)) for module, process, step in map(str.split, lines)}


def four_ranks(node: Host, job: str) -> Ranks:
    """The same, once there are four."""
    deadline = time.monotonic() + 180
    while len(found := ranks(node, job)) < HALF:
        assert time.monotonic() < deadline, f"job {job} has {found}"
        time.sleep(0.5)
    return found


def goes_on(node: Host, job: str, before: Ranks) -> Ranks:
    """Return when each rank has made five more steps, in the process that it had."""
    deadline = time.monotonic() + 60
    while True:
        now = ranks(node, job)
        assert {module: process for module, (process, _step) in now.items()} == {
            module: process for module, (process, _step) in before.items()
        }
        if all(now[module][1] >= step + 5 for module, (_process, step) in before.items()):
            return now
        assert time.monotonic() < deadline, f"job {job} had {before} and has {now}"
        time.sleep(0.5)


def alive(node: Host, found: Ranks) -> str:
    """Those of the processes that are there."""
    return node.run(f"ps -o pid= -p {','.join(str(process) for process, _step in found.values())}").stdout


def in_slurm(controller: Host, job: str) -> str:
    """State and reason; empty for one that has ended."""
    name = f"gaudi3-scale-job-{job}"
    return controller.check_output(f"squeue --noheader --name={name} --format='%T %r'").strip()


def started(controller: Host) -> str:
    """When each node's slurmd has begun, as Slurm knows it."""
    return controller.run("scontrol --oneliner show nodes | grep -o 'SlurmdStartTime=[0-9][^ ]*' | sort").stdout


def configure(controller: Host, nodes: dict[str, Host], command: str) -> None:
    """Change gres.conf everywhere by a command; returns when every node has registered with it and is idle."""
    before = started(controller)
    for host in nodes.values():
        host.check_output(command)
    # Times are in whole seconds.
    time.sleep(1.1)
    # The controller last: it takes no files for as many cards as it has heard of already (Slurm 22.05).
    for host in nodes.values():
        host.check_output("systemctl restart slurmd")
    controller.check_output("systemctl restart slurmctld")

    def are_new() -> str:
        now = started(controller).splitlines()
        states = controller.run("sinfo --noheader --Node --format=%T").stdout.split()
        are_there = states == ["idle"] * len(nodes) and len(now) == len(nodes)
        return "new" if are_there and not {*before.splitlines()} & {*now} else f"{states} {now}"

    # A machine at a load of 30 took longer than 90 s for one node.
    assert until(are_new, "new".__eq__, 300) == "new"


@pytest.fixture
def shared(nodes: dict[str, Host], controller: Host) -> Iterator[Host]:
    """A node whose cards Slurm tells apart, with the program of the jobs."""
    names = ",".join(nodes)
    files = f"mkdir -p {FILES} && for n in $(seq 0 {CARDS - 1}); do ln -sfn /dev/null {FILES}/accel$n; done"
    line = f"NodeName={names} Name=hpu File={FILES}/accel[0-{CARDS - 1}]"
    nodes[NODE].check_output(f"cat > {SCRIPT} <<'END'{PROGRAM}END")
    configure(controller, nodes, f"{files} && cp {GRES} {GRES}.counted && echo '{line}' > {GRES}")
    wait_for_files(controller, NODE, "hpu", 300)
    try:
        yield nodes[NODE]
    finally:
        # Where a test has failed, its jobs would end as their node leaves.
        controller.check_output("scancel --user=gaudi")
        until(lambda: controller.check_output("squeue --noheader"), lambda said: not said)
        configure(controller, nodes, f"mv {GRES}.counted {GRES} && rm -rf {FILES}")


@pytest.fixture
def halve(tmp_path: Path) -> Launch:
    """Launch a job of half of the node's cards, which makes steps until it is stopped."""

    def halve(name: str) -> Played:
        return play(
            tmp_path,
            "launch_training",
            gaudi_training_name=name,
            gaudi_training_engine="slurm",
            gaudi_training_slurm={"cpus_per_rank": 1},
            gaudi_training_hosts=[NODE],
            gaudi_training_processes_per_node=HALF,
            gaudi_training_device="hpu",
            # Eight ranks have more than the cores of the machine that plays all nodes.
            gaudi_training_bind="none",
            gaudi_training_command=[SCRIPT],
            gaudi_training_follow=False,
            # The usual port, from which each of Slurm's jobs has its own.
            gaudi_training_rendezvous_port=29500,
        )

    return halve


@pytest.mark.long
def test_two_jobs_of_four_cards_run_side_by_side_and_are_killed_one_by_one(
    shared: Host, controller: Host, halve: Launch, tmp_path: Path
) -> None:
    for name in ("left", "right"):
        begun = halve(name)
        assert begun.status == "successful", begun.screen
    left, right = four_ranks(shared, "left"), four_ranks(shared, "right")
    places = shared.check_output(f"cat {KERNEL}/sys/class/accel/accel[0-9]*/device/module_id").split()
    assert len(places) == CARDS
    assert not left.keys() & right.keys()
    assert left.keys() | right.keys() == set(map(int, places))
    assert (in_slurm(controller, "left"), in_slurm(controller, "right")) == ("RUNNING None", "RUNNING None")
    # Both have begun before either is asked for more, and each goes on from there.
    left, right = goes_on(shared, "left", left), goes_on(shared, "right", right)
    # A third one has to wait for cards, and begins nothing meanwhile.
    queued = halve("third")
    assert queued.status == "successful", queued.screen
    assert until(lambda: in_slurm(controller, "third"), "PENDING Resources".__eq__) == "PENDING Resources"
    assert ranks(shared, "third") == {}

    process, _step = next(iter(left.values()))
    shared.check_output(f"kill -KILL {process}")
    assert until(lambda: in_slurm(controller, "left"), lambda said: not said) == ""
    assert alive(shared, left) == ""
    right = goes_on(shared, "right", right)
    third = four_ranks(shared, "third")
    assert third.keys() == left.keys()

    stopped = play(
        tmp_path,
        "stop_training",
        gaudi_training_name="right",
        gaudi_training_engine="slurm",
        gaudi_training_hosts=[NODE],
    )
    assert stopped.status == "successful", stopped.screen
    assert until(lambda: in_slurm(controller, "right"), lambda said: not said) == ""
    assert alive(shared, right) == ""
    goes_on(shared, "third", third)
    assert in_slurm(controller, "third") == "RUNNING None"
