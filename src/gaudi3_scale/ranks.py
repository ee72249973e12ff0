# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which process this is among all processes of a job, and the process group that joins them."""

from __future__ import annotations

import datetime
import faulthandler
import os
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from typing import Callable, Mapping, NoReturn, Sequence

import torch
import torch.distributed
from torch.distributed.elastic.multiprocessing.errors import record

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import load_collectives
from gaudi3_scale.reached import MET, STARTED, tell


@dataclass(frozen=True)
class Ranks:
    """``rank`` of ``world_size`` processes; ``local_rank`` of the ``local_world_size`` on this node."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    launched: bool = False

    @property
    def nodes(self) -> int:
        return self.world_size // self.local_world_size


def ranks_from(environment: Mapping[str, str]) -> Ranks:
    """What torchrun says in the environment of each process it starts; a process started alone is rank 0 of 1."""
    if "RANK" not in environment:
        return Ranks()
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    missing = [name for name in names if name not in environment]
    if missing:
        raise GaudiError(f"RANK is set but {', '.join(missing)} is not; start the processes with torchrun.")
    rank, world_size, local_rank, local_world_size = (int(environment[name]) for name in names)
    return Ranks(rank, world_size, local_rank, local_world_size, launched=True)


def join(ranks: Ranks, device: torch.device, timeout: datetime.timedelta | None = None) -> None:
    """Join the process group of all ranks, which :func:`run_rank` leaves again.

    Only NCCL is told the device: it then connects at once, and ``hpu`` has no index that could be told.
    """
    backend = load_collectives(device.type)
    bound = device if device.type == "cuda" else None
    if ranks.launched:
        torch.distributed.init_process_group(backend, timeout=timeout, device_id=bound)
    else:
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1, device_id=bound)
    tell(MET)


def gather_numbers(numbers: Sequence[int], most: int, device: torch.device) -> list[list[int]]:
    """The numbers of each rank, in the order of the ranks: at most ``most`` a rank, each from 0 to 2^31 - 1.

    As int32: lightning-habana's broadcast notes that Gaudi's collectives took no int64 (source of 2024).
    """
    mine = torch.full((most,), -1, dtype=torch.int32)
    mine[: len(numbers)] = torch.tensor(numbers, dtype=torch.int32)
    gathered = [torch.empty_like(mine, device=device) for _rank in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(gathered, mine.to(device))
    return [[number for number in rank.tolist() if number >= 0] for rank in gathered]


def gather_reals(numbers: Sequence[float], device: torch.device) -> list[list[float]]:
    """The numbers of each rank, in the order of the ranks, as many of each; as float32, which all devices have."""
    mine = torch.tensor(numbers, dtype=torch.float32, device=device)
    gathered = [torch.empty_like(mine) for _rank in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(gathered, mine)
    return [rank.tolist() for rank in gathered]


def node_names(ranks: Ranks, device: torch.device) -> list[str]:
    """The nodes in the order of their ranks, as the inventory or else they themselves name them; numbered where two
    have the same name.
    """
    longest = 253  # of a domain's name, RFC 1035
    own = os.environ.get("GAUDI3_SCALE_NODE") or socket.gethostname()
    names = gather_numbers(list(own.encode()[:longest]), longest, device)
    reported = [bytes(name).decode(errors="replace") for name in names[:: ranks.local_world_size]]
    return (
        reported
        if len(set(reported)) == len(reported)
        else [f"{name} (node {number})" for number, name in enumerate(reported)]
    )


def run_rank(name: str, body: Callable[[Sequence[str]], None], arguments: Sequence[str]) -> None:
    """Run ``body`` as the whole life of one rank.

    An exception is written to torchrun's error file (TORCHELASTIC_ERROR_FILE) with its message; a GaudiError is shown
    as one sentence, anything else with its traceback. SIGUSR1 shows the stacks of all threads on standard error: what
    a rank that hangs is asked for.
    """
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    tell(STARTED)
    try:
        record(body)(arguments)
    except Exception as error:
        _fail(name, error)
    # A process that ends without this can abort while it exits: torchrun's agents on the other nodes then wait
    # 300 s in their exit barrier (seen with torch 2.13).
    if torch.distributed.is_initialized():
        on_gloo = torch.distributed.get_backend() == "gloo"
        torch.distributed.destroy_process_group()
        if on_gloo:
            # Caches of torch 2.13 keep groups beyond this (FSDP2's mesh), and gloo's threads can then abort the process
            # while Python ends it: SIGABRT for a rank that had ended well.
            _leave(0)


def _fail(name: str, error: Exception) -> NoReturn:
    if isinstance(error, GaudiError):
        sys.stderr.write(f"{name}: {error}\n")
    else:
        traceback.print_exception(error)
    # The exit handlers of a process group wait for ranks that may never answer again.
    _leave(1)


def _leave(status: int) -> NoReturn:
    """End without exit handlers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
