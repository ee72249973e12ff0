# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.program_versions import read_versions


def answers(**output):
    """A run that knows these programs, by the end of their path."""

    def run(argv, *, timeout=None, env=None):
        assert timeout, "a program that hangs must not hang the plan"
        text = output.get(argv[0])
        return CommandResult(0, text, "") if text else CommandResult(127, "", f"{argv[0]}: not installed")

    return run


@pytest.mark.parametrize(
    ("program", "text", "name", "version"),
    [
        ("docker", "Docker version 25.0.1, build 29cf629\n", "docker", "25.0.1"),
        ("docker", "Docker version 20.10.24+dfsg1, build 297e128\n", "docker", "20.10.24+dfsg1"),
        ("podman", "podman version 4.3.1\n", "podman", "4.3.1"),
        ("containerd", "containerd containerd.io 1.6.28 ae07eda36dd25f8a1b\n", "containerd", "1.6.28"),
        ("containerd", "containerd github.com/containerd/containerd v1.7.2 0cae528\n", "containerd", "1.7.2"),
        ("kubelet", "Kubernetes v1.33.1\n", "kubernetes", "1.33.1"),
        ("mpirun", "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/\n", "open_mpi", "4.1.6"),
        ("fi_info", "fi_info: 1.20.0\nlibfabric: 1.20.0\nlibfabric api: 1.20\n", "libfabric", "1.20.0"),
    ],
)
def test_each_program_tells_its_version(program, text, name, version):
    assert read_versions(answers(**{program: text})) == {name: version}


def test_the_mpi_of_the_vendors_place_is_the_one_that_jobs_use():
    run = answers(**{"/opt/habanalabs/openmpi/bin/mpirun": "mpirun (Open MPI) 4.1.6\n", "mpirun": "(Open MPI) 5.0.8\n"})
    assert read_versions(run) == {"open_mpi": "4.1.6"}


def test_a_program_that_is_missing_or_says_something_else_is_left_out():
    assert read_versions(answers(docker="Cannot connect\n")) == {}
