# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether mpirun on the first node will reach the others: by ssh, as the job's account, without a password."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ..._errors import GaudiError
from ..._node.commands import Run, last_line
from ..._node.job_user import run_as_user
from ..plan import Job

CONNECT_SECONDS = 10
AT_ONCE = 16


def check_reach(job: Job, run: Run) -> None:
    """Raises GaudiError naming the first of the other hosts that ssh does not open."""
    addresses = job.mpi.addresses or job.hosts
    others = list(zip(job.hosts, addresses))[1:]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        said = list(pool.map(lambda pair: _refusal(job, pair[1], run), others))
    for (host, address), words in zip(others, said):
        if words:
            raise GaudiError(
                f"engine mpirun: {job.user} on {job.host} cannot reach {host} by `ssh {address}` without a password: "
                f"{words}; give {job.user} a key that opens {host} and a known_hosts that knows it, or choose engine "
                "torchrun."
            )


def ssh_argv(job: Job, address: str) -> tuple[str, ...]:
    """What mpirun will do for each node, with an end for a node that is not there."""
    port = ["-p", str(job.mpi.ssh_port)] if job.mpi.ssh_port else []
    options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}"]
    return "ssh", *options, *port, address, "true"


def _refusal(job: Job, address: str, run: Run) -> str:
    done = run_as_user(job.user, ssh_argv(job, address), run, timeout=3 * CONNECT_SECONDS)
    return "" if done.rc == 0 else last_line(done.stderr, f"status {done.rc}").rstrip(".")
