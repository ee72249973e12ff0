# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program that a rank begins as: it binds itself, and then becomes the user's program by exec(3).

So process number, environment, standard streams and working directory are those that the engine gave, and whatever the
user's program starts is bound with it. It looks at the node when it starts, not when the job was launched: Slurm may
have chosen another node, and a service may have got other processors since.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Sequence

from ..._errors import GaudiError
from .node import read_bindings

# What becomes of OMP_NUM_THREADS: made the number of the rank's cores; only where it is not set; left as it is.
ALWAYS, UNSET, NEVER = "always", "unset", "never"
THREADS = "OMP_NUM_THREADS"


def main(argv: Sequence[str]) -> int:
    """``argv``: binding, device, kernel root, ALWAYS, UNSET or NEVER, and then the command. Returns only to refuse."""
    bind, device, kernel_root, threads, *command = argv
    local_rank, ranks = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    allowed = os.sched_getaffinity(0)
    try:
        bindings = read_bindings(bind, device, ranks, os.environ, os.uname().nodename, allowed, kernel_root)
    except GaudiError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    binding = bindings[local_rank]
    os.sched_setaffinity(0, binding.cpus)
    if threads == ALWAYS or (threads == UNSET and THREADS not in os.environ):
        os.environ[THREADS] = str(binding.cores)
    # Python ignores these, and what is ignored stays so through exec.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        # A container has its Python wherever its own path leads.
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
    return 1
