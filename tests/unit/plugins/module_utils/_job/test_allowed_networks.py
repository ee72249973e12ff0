# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The networks with which a job may speak: as they are named, and as they would part its nodes."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import check, describe, job_from

OPTIONS = {
    "name": "llama",
    "hosts": ["n1", "n2"],
    "host": "n1",
    "processes_per_node": 8,
    "rendezvous_address": "10.0.0.1",
    "rendezvous_port": 29500,
    "command": ["x.py"],
    "venv": "/venv",
    "environment_files": [],
    "environment": {},
}


def job(*networks, **changes):
    return check(job_from({**OPTIONS, "allowed_networks": list(networks), **changes}), 8)


def test_networks_are_said_in_one_way():
    assert job("10.1.0.0/16", "10.0.0.0/24", "10.0.0.0/24").allowed_networks == ("10.0.0.0/24", "10.1.0.0/16")


def test_a_job_without_them_is_described_as_ever():
    assert "allowed_networks" not in describe(job())
    assert describe(job("10.0.0.0/24"))["allowed_networks"] == ["10.0.0.0/24"]


@pytest.mark.parametrize("address", ["gaudi-01", "127.0.0.1", "10.0.0.1"])
def test_names_and_the_node_itself_are_no_matter(address):
    job("10.0.0.0/24", rendezvous_address=address)


@pytest.mark.parametrize(
    ("networks", "changes", "sentence"),
    [
        (["10.0.0.5/24"], {}, "allowed_networks: '10.0.0.5/24' is an address within a network"),
        (["any"], {}, "allowed_networks: 'any' is neither an address nor a network"),
        (["10.0.0.7\nIPAddressAllow=any"], {}, "is neither an address nor a network"),
        (["10.9.0.0/24"], {}, r"allowed_networks \(10.9.0.0/24\) does not contain 10.0.0.1, the address of a node"),
        (
            ["10.0.0.0/24"],
            {"supervision": {"addresses": ["10.0.0.1", "10.7.0.2"]}},
            "does not contain 10.7.0.2, the address of a node",
        ),
        (["10.0.0.0/24"], {"engine": "slurm"}, "allowed_networks is for a unit of systemd, and slurm starts the ranks"),
    ],
)
def test_what_would_part_the_nodes_is_refused(networks, changes, sentence):
    with pytest.raises(GaudiError, match=sentence):
        job(*networks, **changes)
