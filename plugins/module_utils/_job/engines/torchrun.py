# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""torchrun: one agent on each node, which starts the node's ranks."""

from __future__ import annotations

import json
from typing import Sequence

from ..container.enter import PYTHON
from ..container.entry import TORCHRUN
from ..paths import JobPaths
from ..plan import BUILT_IN, Job
from ..supervision import addresses_of, control_port_of, least_nodes

# Programs of ours that tell their steps: a first one that does not come is a hang, and not a program that tells none.
TELLS_STEPS = BUILT_IN


def torchrun_argv(
    job: Job,
    paths: JobPaths,
    *,
    nodes: str | None = None,
    node_rank: str | None = None,
    address: str | None = None,
    port: str | None = None,
    log_directory: str | None = None,
    rendezvous_id: str | None = None,
    launcher: Sequence[str] = (),
    entry: Sequence[str] = (),
) -> tuple[str, ...]:
    """The program of one node. What a scheduler or a supervisor decides only later is given as a word of its own.

    ``entry`` enters the job's container. ``launcher`` is what each rank begins as before its command.
    torchrun's own ``--numa-binding`` asks CUDA for the cards and needs numactl (torch/numa/binding.py of torch 2.13).
    """
    # What torchrun itself makes of a command where it is told nothing (distributed/run.py).
    interpreter = PYTHON if job.image else f"{job.venv}/bin/python"
    python = ("--no-python", *launcher, interpreter, "-u") if launcher else ()
    return (
        *entry,
        *(TORCHRUN if job.image else (f"{job.venv}/bin/torchrun",)),
        "--nnodes",
        str(len(job.hosts)) if nodes is None else nodes,
        "--node-rank",
        str(job.node_rank) if node_rank is None else node_rank,
        "--nproc-per-node",
        str(job.processes_per_node),
        # Not c10d: it numbers nodes by their sorted addresses (dynamic_rendezvous.py of torch 2.13), so the order of
        # `hosts` could not be kept, and rank 0 would move with an address.
        "--rdzv-backend",
        "static",
        "--rdzv-id",
        job.name if rendezvous_id is None else rendezvous_id,
        "--master-addr",
        job.rendezvous_address if address is None else address,
        "--master-port",
        str(job.port) if port is None else port,
        "--log-dir",
        paths.ranks if log_directory is None else log_directory,
        "--redirects",
        "3",
        # torchrun puts every argument through string.Template for ${local_rank} (elastic/utils/api.py): a lone $
        # would survive, but $$ would become $.
        *(word.replace("$", "$$") for word in (*python, *job.command)),
    )


def supervision_text(
    job: Job,
    paths: JobPaths,
    kernel_root: str,
    launcher: Sequence[str] = (),
    modules: Sequence[int] = (),
    entry: Sequence[str] = (),
) -> str:
    """What the supervisor of this node is told. The words of ``argv`` between @ differ from one start to the next.

    ``modules`` are the cards of its ranks where these are not all of the node; none: all. ``entry`` enters the job's
    container.
    """
    options = job.supervision
    if options is None:
        raise ValueError("the job has no supervisors")
    words = {
        "nodes": "@NNODES@",
        "node_rank": "@NODE_RANK@",
        "address": "@MASTER_ADDRESS@",
        "rendezvous_id": "@RENDEZVOUS_ID@",
    }
    reported = {
        "job": job.name,
        "host": job.host,
        "hosts": job.hosts,
        "spares": options.spares,
        "witness": options.witness,
        "addresses": addresses_of(options, job.hosts, job.rendezvous_address),
        "control_port": control_port_of(options, job.port),
        "key": job.key,
        "argv": torchrun_argv(job, paths, **words, launcher=launcher, entry=entry),
        "container_process": paths.container_process if entry else "",
        "processes_per_node": job.processes_per_node,
        "rendezvous_port": job.port,
        "min_nodes": least_nodes(options, job.hosts),
        "max_restarts": options.max_restarts,
        "min_runtime": options.min_runtime,
        "reports_steps": job.command[:2] == TELLS_STEPS,
        # The built-in trainer's ranks hand them over themselves.
        "checkpoint_directory": "" if job.command[:2] == TELLS_STEPS else job.checkpoint_directory,
        "lost_after": options.lost_after,
        "join_timeout": options.join_timeout,
        "hang_timeout": options.hang_timeout,
        "start_timeout": options.start_timeout,
        "stop_grace": job.stop_timeout,
        "failure_grace": options.failure_grace,
        "straggler_ratio": options.straggler_ratio,
        "exclude_stragglers": options.exclude_stragglers,
        "grow_after": options.grow_after,
        "device": job.device,
        "kernel_root": kernel_root,
        "modules": modules,
        "venv": job.venv,
        "progress_directory": paths.progress,
        "log_directory": paths.logs,
        "agent_log": paths.agent_log,
        "ranks_directory": paths.ranks,
        "status": paths.status,
        "votes": paths.votes,
        "events": paths.events,
        "stop_requested": paths.stop_requested,
    }
    return json.dumps(reported, indent=2) + "\n"


def checkpoint_remarks(job: Job) -> list[str]:
    """What a restart of a program on several nodes needs, where nobody has said where its checkpoints lie."""
    is_alone = not job.supervision or len(job.hosts) < 2 or job.is_witness
    if is_alone or job.command[:2] == TELLS_STEPS or job.checkpoint_directory:
        return []
    remark = (
        "gaudi_training_checkpoint_directory is not set: after a restart the program finds on each node only the "
        "checkpoints that this node sees; set it to their directory, where that is not the same for all nodes."
    )
    return [remark]


def supervisor_command(venv: str) -> tuple[str, ...]:
    """What runs a supervisor, but for the file that tells it what to do.

    Isolated: it imports nothing from its working directory, which the job's account may write, or from PYTHONPATH.
    """
    return f"{venv}/bin/python", "-I", "-m", "gaudi3_scale.supervisor"
