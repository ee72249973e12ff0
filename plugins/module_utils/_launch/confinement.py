# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a job's unit may not do (systemd.exec(5), systemd.resource-control(5)), as lines of its section [Service].

What is not here, and why a training needs it:

- ProtectSystem=strict: programs write where their own arguments say, which no option names. With ``full`` the system's
  own directories are read-only, and what else the account may not write it may not write here either.
- ProtectHome=: models, data, keys for ssh (mpirun) and caches lie below the home directory.
- PrivateDevices=: the cards and their network are devices; DeviceAllow= names them.
- PrivateUsers=, RemoveIPC=: shared memory and pinned pages belong to the account, also between units.
- PrivateNetwork=; IPAddressDeny= unless networks are named: ranks speak with other nodes, and programs load data from
  anywhere.
- MemoryDenyWriteExecute=: graph compilers write the code that they then run.
- ProtectProc=, ProcSubset=: ranks are found, and topology and memory read, in /proc.
- UMask=: who may read checkpoints and logs is the account's to say.
- SystemCallFilter=@system-service: Open MPI and debuggers look into other ranks' memory (process_vm_readv, ptrace).
"""

from __future__ import annotations

import re
from typing import Callable, Iterable

from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.unit_hardening import CONTAINER_ENGINE, FOREIGN_PROGRAM, address_lines, device_lines
from .._node.unit_words import quoted

# Root's own job works on files of others as root does; no other one has any capability.
ROOTS = "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER"
_SHARED_TEMPORARY = re.compile(r"(^|[=:,])/(var/)?tmp(/|$)")


def confined(job: Job, paths: JobPaths, word: Callable[[str], str] = quoted) -> list[str]:
    """The lines for this job. The root of a job that is root's own is a root without most of its powers.

    ``word`` writes a path: ``unexpanded`` for a program of its account that is asked before the job begins, since
    systemd-run(1) takes % for itself.
    """
    own = (paths.directory, paths.logs, *filter(None, [job.checkpoint_directory]))
    return [
        *(CONTAINER_ENGINE if job.image else FOREIGN_PROGRAM),
        *device_lines(job.device),
        f"CapabilityBoundingSet={ROOTS if job.user == 'root' else ''}",
        # They may lie below a system's directory where an option says so.
        f"ReadWritePaths={' '.join(word(f'-{path}') for path in own)}",
        *([] if _names_temporary(job) else ["PrivateTmp=yes"]),
        *address_lines(job.allowed_networks),
    ]


def _names_temporary(job: Job) -> bool:
    """Whether it is to find something in the /tmp or /var/tmp that all see."""
    places = (job.working_directory, job.venv, job.checkpoint_directory, job.mpi.mpirun)
    words: Iterable[str] = (*places, *job.command, *job.mpi.arguments, *job.environment.values())
    return any(_SHARED_TEMPORARY.search(word) for word in words)
