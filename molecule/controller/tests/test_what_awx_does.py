# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What AWX does to a run, and the sentence that its user reads: slices, limits, a job that is cancelled or cut off, a
container that is gone, few forks and many. Through ansible-runner, with which AWX runs its jobs.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import INVENTORY, ROOT, SANDBOX, hostvars, run

NAME = "gaudi_training_name"
# As AWX gives them to each slice of a template.
SLICE = {"awx_job_id": 7, "awx_job_template_name": "Gaudi: Launch", "awx_workflow_job_name": "Gaudi: Launch"}


def screen(done: ansible_runner.Runner) -> str:
    return " ".join(done.stdout.read().split())


def awx(
    directory: Path, playbook: str, inventory: str, variables: dict[str, Any], **more: Any
) -> ansible_runner.Runner:
    """A run with this inventory alone."""
    return ansible_runner.run(
        private_data_dir=tempfile.mkdtemp(dir=directory),
        playbook=f"gaudi3.scale.{playbook}",
        inventory=[inventory],
        extravars=variables,
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "GAUDI_SANDBOX": SANDBOX,
            "PATH": os.environ["PATH"],
        },
        quiet=True,
        **more,
    )


def is_running(host: Host, name: str) -> bool:
    return host.run(f"systemctl is-active gaudi3-scale-job-{name}").stdout.strip() == "active"


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[list[str]]:
    """Names of jobs that are to be stopped at the end."""
    names: list[str] = []
    yield names
    for name in names:
        assert run(tmp_path, "stop_training", **{NAME: name}).status == "successful"


def test_a_slice_is_refused_where_ranks_need_all_nodes(tmp_path: Path, job: dict[str, Any]) -> None:
    done = run(tmp_path, "launch_training", **{NAME: "sliced"}, **job, **SLICE)
    assert done.status == "failed"
    said = screen(done)
    assert "This job is a slice of the template Gaudi: Launch and sees only some of the nodes" in said
    assert "set its job slicing to 1." in said


def sliced(directory: Path, node: str) -> str:
    """The inventory of a slice: it has its own nodes, with all of their variables, and no others."""
    path = directory / "slice.json"
    path.write_text(json.dumps({"gaudi": {"hosts": {node: hostvars()[node]}}}))
    return str(path)


@pytest.mark.usefixtures("nodes")
def test_a_slice_of_a_state_does_its_own_nodes(tmp_path: Path) -> None:
    done = awx(tmp_path, "flags", sliced(tmp_path, "node2"), SLICE)
    assert done.status == "successful", done.stdout.read()[-3000:]
    assert {*done.stats["ok"]} == {"node2"}


def test_a_limit_that_takes_a_rank_away_is_refused_and_numbers_no_rank_anew(
    tmp_path: Path, job: dict[str, Any], nodes: dict[str, Host]
) -> None:
    done = run(tmp_path, "launch_training", arguments="--limit node2", **{NAME: "limited"}, **job)
    assert done.status == "failed"
    others = ", ".join(name for name in nodes if name != "node2")
    assert f"{others} of gaudi_training_hosts not in this play; run it without --limit, or set it to" in screen(done)
    assert not is_running(nodes["node2"], "limited")


@pytest.mark.in_turn
def test_a_cancelled_job_leaves_the_training_alone_and_finds_it_again(
    tmp_path: Path, job: dict[str, Any], nodes: dict[str, Host], stopped: list[str]
) -> None:
    stopped.append("cancelled")

    def cancel() -> bool:
        """As the button does: ansible-runner asks every while, and ends the run."""
        return is_running(nodes["node1"], "cancelled") and is_running(nodes["node2"], "cancelled")

    done = awx(tmp_path, "launch_training", str(INVENTORY), {NAME: "cancelled", **job}, cancel_callback=cancel)
    assert done.status == "canceled"
    # Whatever the cancelled run left behind has had its time.
    time.sleep(3)
    assert all(is_running(host, "cancelled") for host in nodes.values())
    again = run(tmp_path, "launch_training", **{NAME: "cancelled", "gaudi_training_timeout": 4}, **job)
    said = screen(again)
    assert "It continues if this play is interrupted." in said
    # The same description: nothing was started again.
    assert "Job cancelled still runs after 4 s. It continues; launch it again to follow it." in said


@pytest.mark.in_turn
def test_following_ends_before_the_controller_ends_it(
    tmp_path: Path, job: dict[str, Any], nodes: dict[str, Host], stopped: list[str]
) -> None:
    """With the time that the templates give it, four hours are never reached."""
    stopped.append("long")
    done = run(tmp_path, "launch_training", **{NAME: "long", "gaudi_training_timeout": 2}, **job)
    assert done.status == "failed"
    assert "Job long still runs after 2 s. It continues; launch it again to follow it." in screen(done)
    assert all(is_running(host, "long") for host in nodes.values())


@pytest.mark.in_turn
@pytest.mark.usefixtures("nodes")
def test_a_page_in_a_container_is_named_as_lost(tmp_path: Path, place: dict[str, str]) -> None:
    said = screen(run(tmp_path, "plan_fabric", awx_job_id=7))
    assert "is gone with this job's container; set gaudi_report_target to s3://bucket/prefix" in said
    assert "is gone with this job's container" not in screen(run(tmp_path, "plan_fabric", awx_job_id=7, **place))


@pytest.mark.long
@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("forks", [1, 100])
def test_what_needs_all_nodes_at_once_needs_no_fork_for_each(tmp_path: Path, place: dict[str, str], forks: int) -> None:
    """One fork for two nodes is as five for ten: ranks wait for each other all the same."""
    done = run(tmp_path, "verify", arguments=f"--forks {forks}", **place)
    assert done.status == "successful", done.stdout.read()[-4000:]
    measured = run(
        tmp_path,
        "measure_collectives",
        arguments=f"--forks {forks}",
        gaudi_collectives_names=["all_reduce"],
        gaudi_collectives_max_bytes="64K",
        **place,
    )
    assert measured.status == "successful", measured.stdout.read()[-4000:]
