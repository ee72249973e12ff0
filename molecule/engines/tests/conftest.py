# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Three nodes with the training stack, a program that is every rank, and runs of the playbooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

from .jobs import CLUSTER, Cluster, Played, play


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The nodes by name, with what a job needs."""
    stack = run(tmp_path_factory.mktemp("stack"), "training_stack")
    assert stack.status == "successful", stack.stdout.read()[-4000:]
    return Cluster(hosts())


@pytest.fixture
def nodes(cluster: Cluster) -> Iterator[dict[str, Host]]:
    """The nodes before a test, without a process of a job; and none is left after it."""
    cluster.prepare()
    yield cluster.nodes
    assert cluster.ranks_left() == dict.fromkeys(CLUSTER, "")


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., Played]:
    """Launch a job on all nodes, whose first is not Slurm's first."""

    def launch(name: str, engine: str, **variables: object) -> Played:
        return play(tmp_path, "launch_training", training_name=name, training_engine=engine, **variables)

    return launch


@pytest.fixture
def stop(tmp_path: Path) -> Callable[..., Played]:
    def stop(name: str, engine: str) -> Played:
        return play(tmp_path, "stop_training", training_name=name, training_engine=engine)

    return stop
