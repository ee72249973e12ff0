# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Three nodes with the training stack, a program that is every rank, and runs of the playbooks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played, ready_for_jobs

from .jobs import CLUSTER, PROGRAM, SEEN_ON_NODE, Cluster, play, until
from .trainings import STEPS, TRAINING, never_interrupted


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The nodes by name, with what a job needs."""
    return Cluster(ready_for_jobs(tmp_path_factory.mktemp("layers")))


@pytest.fixture
def nodes(cluster: Cluster) -> Iterator[dict[str, Host]]:
    """The nodes before a test, without a process of a job; and none is left after it."""
    cluster.prepare()
    yield cluster.nodes
    assert cluster.ranks_left() == dict.fromkeys(CLUSTER, "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Whoever reads of a failure reads what Slurm and the nodes did meanwhile, too."""
    report = yield
    found = getattr(item, "funcargs", {})
    if report.failed and (controller := found.get("controller")):
        logs = "/var/log/slurm/slurmctld.log /var/log/gaudi3_scale/jobs/*/slurm-*.log"
        report.sections.append(("Slurm", controller.run(f"tail -n 40 {logs}; scontrol show job; sinfo -Nl").stdout))
    if report.failed:
        report.sections.extend((name, node.run(SEEN_ON_NODE).stdout) for name, node in found.get("nodes", {}).items())
    return report


def out_of_service(controller: Host) -> list[str]:
    """The nodes that Slurm holds for down, or that have not answered it."""
    said = controller.check_output("sinfo --noheader --Node --format '%N %T'").splitlines()
    states = dict(line.split() for line in said)
    return [name for name, state in states.items() if state.startswith("down") or state.endswith("*")]


@pytest.fixture
def controller(nodes: dict[str, Host]) -> Iterator[Host]:
    """The node that runs Slurm's controller, with all nodes in service; its queue is empty after the test."""
    for name in out_of_service(nodes["node1"]):
        # A test before has cut it off. Slurm asks a node that is down in minutes; its daemon tells when it starts.
        nodes[name].check_output("systemctl restart slurmd")
    assert until(lambda: out_of_service(nodes["node1"]), lambda names: not names) == []
    yield nodes["node1"]
    nodes["node1"].check_output("scancel --user=gaudi && scancel --user=root")
    assert until(lambda: nodes["node1"].check_output("squeue --noheader"), lambda said: not said) == ""


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., Played]:
    """Launch a job on all nodes, whose first is not Slurm's first."""

    def launch(name: str, engine: str, seconds: int = 600, **variables: object) -> Played:
        job = {
            "gaudi_training_name": name,
            "gaudi_training_engine": engine,
            "gaudi_training_command": [PROGRAM, str(seconds)],
        }
        return play(tmp_path, "launch_training", **{**job, **variables})

    return launch


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Played]:
    """Launch the built-in trainer with a rank on each of the hosts."""

    def train(name: str, engine: str, *hosts: str, **variables: object) -> Played:
        job = {"gaudi_training_name": name, "gaudi_training_engine": engine, "gaudi_training_hosts": list(hosts)}
        return play(tmp_path, "launch_training", **{**job, **TRAINING, **variables})

    return train


@pytest.fixture(scope="session")
def expected(cluster: Cluster) -> list[tuple[int, float]]:
    """(step, loss) of that training where nothing interrupts it."""
    reported = never_interrupted(cluster.nodes["node3"])
    assert [step for step, _loss in reported] == list(range(1, STEPS + 1))
    return reported


@pytest.fixture
def stop(tmp_path: Path) -> Callable[..., Played]:
    def stop(name: str, engine: str) -> Played:
        return play(tmp_path, "stop_training", gaudi_training_name=name, gaudi_training_engine=engine)

    return stop
