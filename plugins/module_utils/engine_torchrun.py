# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun: one agent on each node, which starts the node's ranks."""

from __future__ import annotations

from .job_paths import JobPaths
from .job_plan import Job


def torchrun_argv(
    job: Job,
    paths: JobPaths,
    *,
    node_rank: str | None = None,
    address: str | None = None,
    port: str | None = None,
    log_directory: str | None = None,
) -> tuple[str, ...]:
    """The program of one node. Where a scheduler decides only later, it gives a word of its own for that part."""
    return (
        f"{job.venv}/bin/torchrun",
        "--nnodes",
        str(len(job.hosts)),
        "--node-rank",
        str(job.node_rank) if node_rank is None else node_rank,
        "--nproc-per-node",
        str(job.processes_per_node),
        # Not c10d: it numbers nodes by their sorted addresses (dynamic_rendezvous.py of torch 2.13), so the order of
        # `hosts` could not be kept, and rank 0 would move with an address.
        "--rdzv-backend",
        "static",
        "--rdzv-id",
        job.name,
        "--master-addr",
        job.rendezvous_address if address is None else address,
        "--master-port",
        str(job.rendezvous_port) if port is None else port,
        "--log-dir",
        paths.ranks if log_directory is None else log_directory,
        "--redirects",
        "3",
        # torchrun puts every argument through string.Template for ${local_rank} (elastic/utils/api.py): a lone $
        # would survive, but $$ would become $.
        *(word.replace("$", "$$") for word in job.command),
    )
