# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""mpirun of Open MPI: one program on the first node, which starts the ranks of all nodes through ssh.

Written after mpirun(1) of Open MPI 4.1 and 5.0 and the vendor's commands for Gaudi (docs.habana.ai); with the 1.23
release's notes: ``--rank-by core`` of 4.1 is deprecated in 5.0, which has ``--rank-by slot``.
"""

from __future__ import annotations

import re
import shlex
from typing import Iterable, Mapping

from ..._releases.lookup import find_release, version_key
from ..binding.launcher import Launcher
from ..binding.modules import VARIABLE
from ..binding.rank import UNSET
from ..paths import JobPaths
from ..plan import Job, starts_in
from .job_shell import INTERFACE, read_files, restored

# Called by another name than mpirun, 4.1 says OpenRTE. What 5.0 says as prterun is PRRTE's version, none of Open MPI's.
_VERSION = re.compile(r"\((?:Open MPI|OpenRTE)\) (\d+(?:\.\d+)+)")
# Seconds between SIGTERM and SIGKILL after a failure. Open MPI waits them out about four times (4.1.4, three nodes: 15
# made 60), so they are few; what stops a job tells the ranks before, see STOP.
KILL_AFTER = "3"
# A node that is gone says nothing: without these mpirun would wait for it for eight minutes. Seconds of silence until
# it is asked, seconds between the questions, and their number.
LOST_NODE = {"oob_tcp_keepalive_time": "5", "oob_tcp_keepalive_intvl": "5", "oob_tcp_keepalive_probes": "2"}
# mpirun hands this signal on to every rank's shell, which tells the rank to end. Its SIGTERM would end all KILL_AFTER
# seconds later, too soon for a checkpoint. $1: seconds to wait for the end.
STOP = """test -n "$MAINPID" || exit 0
kill -USR2 "$MAINPID"
while kill -0 "$MAINPID" 2> /dev/null && [ "$1" -gt 0 ]; do sleep 1; set -- $(($1 - 1)); done"""
# Seconds of stop_timeout that mpirun has in the end for ranks that did not listen.
AT_LAST = 15
# The rank is a child, so that its shell can be told. Its group gets the signal from mpirun too, and ignores it.
# Its status is handed on as mpirun would have seen it: a signal as a signal.
RANK = """(trap '' USR2; exec "$@") &
rank=$!
trap 'kill -TERM "$rank" 2> /dev/null' USR2
trap : TERM
while :; do
  wait "$rank"
  status=$?
  kill -0 "$rank" 2> /dev/null || break
done
trap - TERM
[ "$status" -le 128 ] || kill -s "$((status - 128))" "$$"
exit $status"""
# What mpirun tells its processes, by the names that torch's env:// reads and torchrun would set.
RANKS = """export RANK="$OMPI_COMM_WORLD_RANK" WORLD_SIZE="$OMPI_COMM_WORLD_SIZE"
export LOCAL_RANK="$OMPI_COMM_WORLD_LOCAL_RANK" LOCAL_WORLD_SIZE="$OMPI_COMM_WORLD_LOCAL_SIZE"
export GROUP_RANK="$((OMPI_COMM_WORLD_RANK / OMPI_COMM_WORLD_LOCAL_SIZE))\""""


def version_of(said: str) -> str | None:
    """The version in what ``mpirun --version`` says; None for the mpirun of another MPI."""
    match = _VERSION.search(said)
    return None if match is None else match.group(1)


def version_of_release(release: str) -> str | None:
    """The newest Open MPI that a release names, for a node that has none yet; None where nothing is published."""
    return max(find_release(release).open_mpi, key=version_key, default=None)


def rank_by(version: str) -> str:
    """The form in which this Open MPI is told to number a node's ranks in the order of their cores."""
    return "slot" if version_key(version) >= (5,) else "core"


def tag_output(version: str) -> tuple[str, ...]:
    """Each line of output begins with its rank, ``[1,RANK]<stderr>:``, by which a failed rank's words are found."""
    return ("--output", "tag") if version_key(version) >= (5,) else ("--tag-output",)


def host_file_text(job: Job) -> str:
    """The nodes in the order of their ranks, with a slot a rank."""
    return "".join(f"{address} slots={job.processes_per_node}\n" for address in job.mpi.addresses or job.hosts)


def mpirun_argv(
    job: Job, paths: JobPaths, version: str, environment: Mapping[str, str], launcher: Launcher | None = None
) -> tuple[str, ...]:
    """The program that the first node's unit runs. Of ``environment`` it has the names: values can be secrets."""
    options = job.mpi
    settings = {
        "btl_tcp_if_include": options.network,
        "oob_tcp_if_include": options.network,
        "plm_rsh_args": f"-p {options.ssh_port}" if options.ssh_port else "",
        "odls_base_sigkill_timeout": KILL_AFTER,
        **LOST_NODE,
    }
    python = f"{job.venv}/bin/python"
    # Of the job alone, where the node's files may have that of all jobs.
    own = sorted({"PT_HPU_RECIPE_CACHE_CONFIG", VARIABLE} & set(environment))
    return (
        options.mpirun,
        *(("--allow-run-as-root",) if job.user == "root" else ()),
        "-n",
        str(job.world_size),
        "--hostfile",
        paths.host_file,
        *_placing(job, version),
        *tag_output(version),
        *(("--prefix", options.prefix) if options.prefix else ()),
        *(word for name, value in settings.items() if value for word in ("--mca", name, value)),
        *(word for name in sorted({*environment, "MASTER_ADDR", "MASTER_PORT"}) for word in ("-x", name)),
        *options.arguments,
        # Not -u: pieces of lines would each get the tag of their rank, amid those of the others.
        *("/bin/sh", "-c", rank_shell(job, paths, own), "sh"),
        *(launcher.argv(UNSET) if launcher else ()),
        python,
        *job.command,
    )


def mpirun_environment(job: Job, environment: Mapping[str, str]) -> dict[str, str]:
    """What the unit's environment file has for mpirun to pass on: where the ranks meet, too."""
    return {**environment, "MASTER_ADDR": job.rendezvous_address, "MASTER_PORT": str(job.port)}


def stop_argv(job: Job) -> tuple[str, ...]:
    """What the unit runs before it ends mpirun: the ranks get time for a checkpoint."""
    return ("/bin/sh", "-c", STOP, "sh", str(max(1, job.stop_timeout - AT_LAST)))


def rank_shell(job: Job, paths: JobPaths, further: Iterable[str] = ()) -> str:
    """What each rank runs before the program: the node's flags, its interface, its place among the ranks.

    ``further`` variables came through mpirun as the job's own did, and win over the node's files as well.
    """
    own = sorted({*job.environment, *further})
    return "\n".join(
        [
            "towards=$MASTER_ADDR",
            *_kept(own, "kept_"),
            *read_files(job.environment_files),
            INTERFACE,
            *restored(own, "kept_"),
            RANKS,
            f"cd {shlex.quote(starts_in(job, paths))} || exit",
            RANK,
        ]
    )


def _placing(job: Job, version: str) -> tuple[str, ...]:
    """So many cores for each rank of a socket, or none. Which card a rank takes is nothing that Open MPI knows, and a
    rankfile would need every node's cores here; so ranks that are to be near their cards bind themselves.
    """
    options = job.mpi
    where = f"ppr:{job.processes_per_node}:node"
    if options.cores_per_rank:
        ranks_per_socket = job.processes_per_node // options.sockets_per_node
        where = f"ppr:{ranks_per_socket}:socket:PE={options.cores_per_rank}"
    bound = "core" if options.cores_per_rank else "none"
    # Ranks that are bound to no cores cannot be numbered by them.
    order = rank_by(version) if options.cores_per_rank else "slot"
    return ("--map-by", where, "--rank-by", order, "--bind-to", bound)


def _kept(names: Iterable[str], prefix: str) -> list[str]:
    """The job's own values win over the node's files, and came through mpirun, not in this text."""
    return [f'{prefix}{name}="${name}"' for name in names]
