# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import getpass

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.mpirun_reach import check_reach, ssh_argv
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

JOB = Job(
    name="llama",
    hosts=("n2", "n1", "n3"),
    host="n2",
    processes_per_node=8,
    rendezvous_address="192.0.2.2",
    rendezvous_port=29500,
    command=("train.py",),
    venv="/opt/venv",
    user=getpass.getuser(),
    engine="mpirun",
    mpi=MpiOptions(addresses=("192.0.2.2", "192.0.2.1", "192.0.2.3"), ssh_port=3022),
)


class Ssh:
    """Answers of the other nodes by address; those that are not named are open."""

    def __init__(self, **refusals: str) -> None:
        self.refusals = {name.replace("_", "."): said for name, said in refusals.items()}
        self.asked: list[list[str]] = []

    def __call__(self, argv, **_more):
        self.asked.append(list(argv))
        said = self.refusals.get(argv[-2].removeprefix("at."), "")
        return CommandResult(255 if said else 0, "", said)


def test_every_other_node_is_asked_once_at_the_address_that_mpirun_uses():
    ssh = Ssh()
    check_reach(JOB, ssh)
    assert sorted(argv[-2] for argv in ssh.asked) == ["192.0.2.1", "192.0.2.3"]
    assert ssh_argv(JOB, "n1") == (
        *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-p", "3022"),
        *("n1", "true"),
    )


def test_a_node_that_is_closed_is_named_with_what_ssh_said():
    # As OpenSSH 9.2 said it between two nodes without a key.
    ssh = Ssh(**{"192_0_2_3": "Warning: Permanently added\nroot@192.0.2.3: Permission denied (publickey).\n"})
    with pytest.raises(GaudiError) as caught:
        check_reach(JOB, ssh)
    said = str(caught.value)
    assert "on n2 cannot reach n3 by `ssh 192.0.2.3` without a password: " in said
    assert "root@192.0.2.3: Permission denied (publickey); give" in said
    assert "\n" not in said


def test_ssh_that_is_not_there_is_told():
    with pytest.raises(GaudiError, match="ssh: not installed"):
        check_reach(JOB, lambda argv, **_more: CommandResult(127, "", "ssh: not installed"))
