# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.job_hosts import JobHosts, order_refusal, refusal

NODES = ["n1", "n2", "n3"]
NAMED = "gaudi_training_hosts"


@pytest.mark.parametrize(
    "job",
    [
        JobHosts(["n1"]),
        JobHosts(["n2", "n1"], ["n3"]),
        JobHosts(["n1", "n2"], witness="n3"),
        JobHosts(NODES, engine="slurm"),
    ],
)
def test_hosts_that_can_be_meant(job):
    assert refusal(job, NODES, NODES) == ""


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (JobHosts([], option=NAMED), f"{NAMED} is empty; name the hosts in the order of their ranks."),
        (
            JobHosts(["n1", "nX"], option=NAMED),
            f"{NAMED} names nX, which is not in the inventory; correct the name, or add the host.",
        ),
        (JobHosts(["n1", "n1"], option=NAMED), f"{NAMED} (n1, n1) names a host twice; name each host once."),
        (
            JobHosts(["n1"], ["n1"], option=NAMED),
            f"gaudi_training_spares (n1) names a host twice, or one of {NAMED}; name each host once.",
        ),
        (
            JobHosts(["n1"], ["n2"], engine="slurm"),
            "gaudi_training_spares are for gaudi_training_engine torchrun, not slurm; leave them out.",
        ),
        (
            JobHosts(["n1"], witness="n2", engine="mpirun"),
            "gaudi_training_witness is for gaudi_training_engine torchrun, not mpirun; leave it out.",
        ),
        (
            JobHosts(["n1"], witness="n1", option=NAMED),
            (
                f"gaudi_training_witness n1 is one of {NAMED} or gaudi_training_spares; name a host that runs "
                "nothing of the job, or leave it out."
            ),
        ),
        (
            JobHosts(["n1"], witness="login"),
            (
                "gaudi_training_witness login is not in this play; name a host of the inventory, with -e where it is "
                "not of gaudi_hosts, and run it without --limit."
            ),
        ),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(job, said):
    assert refusal(job, NODES, NODES) == said


def test_a_limit_does_not_renumber_the_ranks():
    said = refusal(JobHosts(NODES, option=NAMED), NODES, ["n2"])
    assert said == f"n1, n3 of {NAMED} not in this play; run it without --limit, or set it to those you want."


AWS = {"ami_launch_index", "instance_id", "placement"}


@pytest.mark.parametrize(
    ("hosts", "listed", "names"),
    [
        (["n1", "n2"], ["n1", "n2"], AWS),
        (["n2", "n1"], ["n2", "n1"], {"ansible_host"}),
        # Named by a person, or by a ring that was measured.
        (["n3", "n1", "n2"], ["n2", "n1", "n3"], AWS),
    ],
)
def test_an_order_that_somebody_means_is_taken(hosts, listed, names):
    assert order_refusal(JobHosts(hosts), listed, dict.fromkeys(hosts, names)) == ""


@pytest.mark.parametrize("names", [AWS, {f"aws_{name}" for name in AWS}, {"device_types", "is_virtual"}])
def test_the_order_in_which_a_cloud_tells_its_servers_is_refused(names):
    said = order_refusal(JobHosts(["n2", "n1"], option=NAMED), ["n2", "x", "n1"], {"n1": names, "n2": names})
    assert said.startswith(f"{NAMED} is in the order in which the cloud returned its servers")
    assert said.endswith("or list the hosts.")
