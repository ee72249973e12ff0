# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``node_drain`` on a real Slurm: ours is lifted, somebody else's drain stays, running jobs end by themselves.

node1 is the controller, on which the module runs; node2 is drained.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import run, sandbox

NODE = "node2"
READY_SECONDS = 60
BEGINS = "gaudi3_scale: driver 1.24.1 #"

Drain = Callable[..., dict[str, Any]]


@pytest.fixture
def controller(installed: Host) -> Iterator[Host]:
    """node1, with node2 idle in the beginning, and without the jobs and drains of the test in the end."""
    in_service(installed)
    yield installed
    installed.check_output("scancel --user=operator")
    wait_for(installed, "squeue --noheader", "")
    in_service(installed)


@pytest.fixture
def drain(tmp_path: Path) -> Drain:
    """Run the module on node1; its result."""

    def drain(state: str, *, check: bool = False, become: bool = True, **options: Any) -> dict[str, Any]:
        module = {"node": NODE, "adapter": "slurm", "state": state, "reason": "driver 1.24.1", "poll": 1, **options}
        play = {
            "hosts": "node1",
            "gather_facts": False,
            # The inventory's variable wins over the keyword.
            "tasks": [{"gaudi3.scale.node_drain": module, "vars": {"ansible_become": become}, "check_mode": check}],
        }
        result = run(tmp_path, [play])
        ends = [event for event in result.events if event["event"] in ("runner_on_ok", "runner_on_failed")]
        assert len(ends) == 1, result.stdout.read()[-4000:]
        return {**ends[0]["event_data"]["res"], "failed": ends[0]["event"] == "runner_on_failed"}

    return drain


def state_of(controller: Host) -> str:
    """Slurm's own state of the node, and its reason with the time at which it was given."""
    line: str = controller.check_output(f"scontrol --oneliner show node {NODE}")
    state = line.partition(" State=")[2].partition(" ")[0].replace("+NOT_RESPONDING", "")
    return f"{state} {line.partition(' Reason=')[2]}".strip()


def in_service(controller: Host) -> None:
    """Give the node back, whoever drained it, and return when it answers and is idle."""
    # Not sinfo: in 22.05 it goes on to show "mixed" for minutes after a job was cancelled.
    question = f"scontrol --oneliner show node {NODE} | grep -o ' State=[^ ]*'"
    deadline = time.monotonic() + READY_SECONDS
    while (state := controller.check_output(question).strip()) != "State=IDLE":
        assert time.monotonic() < deadline, f"{NODE} has {state}"
        if any(word in state for word in ("DRAIN", "DOWN", "FAIL")):
            controller.check_output(f"scontrol update NodeName={NODE} State=RESUME")
        time.sleep(0.5)


def wait_for(controller: Host, question: str, answer: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while (said := controller.check_output(question)) != answer:
        assert time.monotonic() < deadline, f"{question}: {said}"
        time.sleep(0.5)


def start_job(controller: Host, seconds: int) -> str:
    """A job of the user operator that takes all cards of the node, running; its id."""
    wanted = f"--gres=hpu:8 --nodelist={NODE} --job-name=llama --output=/dev/null"
    submit = f"sbatch --parsable {wanted} --wrap 'sleep {seconds}'"
    job: str = controller.check_output(f"cd /tmp && sudo --user=operator {submit}")
    wait_for(controller, f"squeue --noheader --jobs={job} --format=%T", "RUNNING")
    return job


def test_slurm_is_real_and_counts_the_cards(controller: Host) -> None:
    assert controller.check_output("scontrol ping").startswith("Slurmctld(primary) at node1 is UP")
    assert controller.check_output("sinfo --noheader --Node --format='%N %G'").split("\n") == [
        "node1 hpu:8",
        "node2 hpu:8",
    ]
    said = controller.check_output(f"srun --gres=hpu:4 --nodelist={NODE} hostname")
    assert said == NODE
    assert controller.run("srun --gres=hpu:9 --nodes=1 true").rc != 0


def test_installing_slurm_again_restarts_nothing(controller: Host) -> None:
    unit = "systemctl show --property=MainPID slurmctld slurmd munge"
    before = controller.check_output(unit)
    sandbox("slurm")
    assert controller.check_output(unit) == before


def test_ours_is_found_again_and_lifted(controller: Host, drain: Drain) -> None:
    foreseen = drain("drained", check=True)
    assert state_of(controller) == "IDLE"
    first = drain("drained")
    assert (first["state"], first["drained_by"], first["changed"]) == ("drained", "us", True)
    assert {key: foreseen[key] for key in ("state", "drained_by", "reason", "jobs", "changed")} == {
        key: first[key] for key in ("state", "drained_by", "reason", "jobs", "changed")
    }
    shown = state_of(controller)
    assert shown.startswith(f"IDLE+DRAIN {BEGINS}")
    assert drain("drained", reason="another")["changed"] is False
    assert state_of(controller) == shown
    back = drain("resumed")
    assert (back["state"], back["drained_by"], back["reason"], back["changed"]) == ("resumed", "nobody", "", True)
    assert state_of(controller) == "IDLE"
    assert drain("resumed")["changed"] is False


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ("State=DRAIN Reason='bob: disk is broken'", "bob: disk is broken"),
        ("State=DOWN Reason='bob: no power'", "bob: no power"),
        ("State=FAIL Reason='bob: fails'", "bob: fails"),
    ],
    ids=["drain", "down", "fail"],
)
def test_somebody_elses_drain_is_still_there_after(controller: Host, drain: Drain, update: str, reason: str) -> None:
    controller.check_output(f"scontrol update NodeName={NODE} {update}")
    shown = state_of(controller)
    for state in ("drained", "resumed"):
        result = drain(state)
        assert (result["drained_by"], result["reason"], result["changed"]) == ("other", reason, False)
        assert state_of(controller) == shown
    controller.check_output(f"scontrol update NodeName={NODE} State=RESUME")


@pytest.mark.in_turn
def test_ours_that_somebody_took_over_stays(controller: Host, drain: Drain) -> None:
    ours = drain("drained")["reason"]
    controller.check_output(f"scontrol update NodeName={NODE} Reason='{ours}, keep it: bob'")
    shown = state_of(controller)
    result = drain("resumed")
    assert (result["drained_by"], result["changed"]) == ("other", False)
    assert state_of(controller) == shown


@pytest.mark.in_turn
def test_a_running_job_is_waited_for_and_ends_by_itself(controller: Host, drain: Drain) -> None:
    job = start_job(controller, 8)
    result = drain("drained", wait=60)
    assert (result["state"], result["drained_by"], result["jobs"]) == ("drained", "us", [])
    assert "JobState=COMPLETED " in controller.check_output(f"scontrol --oneliner show job {job}")


def test_a_job_that_outlives_the_wait_is_named_and_the_drain_stays(controller: Host, drain: Drain) -> None:
    job = start_job(controller, 600)
    result = drain("drained", wait=2)
    assert result["failed"] is True
    assert f"{NODE} still runs 1 job: {job} (operator, llama) after 2 s; our drain stays" in result["msg"]
    assert result["jobs"] == [{"id": job, "user": "operator", "name": "llama"}]
    assert f"+DRAIN {BEGINS}" in state_of(controller)
    back = drain("resumed")
    assert (back["state"], back["jobs"]) == ("resumed", result["jobs"])
    assert controller.check_output(f"squeue --noheader --jobs={job} --format=%T") == "RUNNING"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"node": "nowhere"}, "Slurm has no node nowhere"),
        ({"node": "node[1-2]"}, "is not the name of one node"),
        ({"become": False}, "Slurm does not let this user change node2"),
    ],
    ids=["unknown", "range", "no permission"],
)
def test_is_refused_in_one_sentence(controller: Host, drain: Drain, options: dict[str, Any], words: str) -> None:
    result = drain("drained", **options)
    assert words in result["msg"]
    assert "\n" not in result["msg"]
    assert state_of(controller) == "IDLE"


@pytest.mark.in_turn
def test_a_controller_that_is_away_is_told(controller: Host, drain: Drain) -> None:
    controller.check_output("systemctl stop slurmctld")
    try:
        message = drain("drained")["msg"]
    finally:
        controller.check_output("systemctl start slurmctld")
    assert "Unable to contact slurm controller" in message
    assert "\n" not in message
