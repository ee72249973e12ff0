# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which ranks see the same directory of checkpoints: they write one checkpoint together."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed

from gaudi3_scale.checkpoints.fence import Fence, generation_from
from gaudi3_scale.checkpoints.files import MARK
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.ranks import Ranks

Value = TypeVar("Value")


@dataclass(frozen=True)
class Place:
    """A rank's directory of checkpoints, and the ranks ``members`` that see the same one, in rising order.

    ``group`` joins them and ``everyone`` joins all ranks, both over gloo: checkpoints and agreements are of the hosts,
    whatever the cards talk over. ``fence`` is that of the directory.
    """

    directory: Path
    members: tuple[int, ...]
    directories: int
    group: torch.distributed.ProcessGroup
    everyone: torch.distributed.ProcessGroup
    fence: Fence

    @property
    def leads(self) -> bool:
        """Whether this rank is the first of those that see this directory."""
        return self.members[0] == torch.distributed.get_rank()

    @property
    def number(self) -> int:
        """Which of the members this rank is."""
        return self.members.index(torch.distributed.get_rank())

    def gather(self, value: Value) -> list[Value]:
        """The value of each rank, in the order of the ranks. Collective."""
        return gather_in(self.everyone, value)


def gather_in(group: torch.distributed.ProcessGroup, value: Value) -> list[Value]:
    """The value of each rank of ``group``, in the order of the ranks. Collective in it.

    Of JSON's own types, a tuple coming back as a list: what another rank says is data, which a pickled object, as
    torch's own gathering of objects has it, is not.
    """
    mine = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
    lengths = [torch.zeros(1, dtype=torch.int64) for _rank in range(torch.distributed.get_world_size(group))]
    torch.distributed.all_gather(lengths, torch.tensor([len(mine)]), group=group)
    longest = max(int(length) for length in lengths)
    texts = [torch.zeros(longest, dtype=torch.uint8) for _rank in lengths]
    padded = torch.nn.functional.pad(mine, (0, longest - len(mine)))
    torch.distributed.all_gather(texts, padded, group=group)
    values: list[Any] = [json.loads(bytes(text[:length].tolist())) for text, length in zip(texts, map(int, lengths))]
    return values


def find_place(
    directory: Path,
    ranks: Ranks,
    everyone: torch.distributed.ProcessGroup | None = None,
    option: str = "--job-dir",
) -> Place:
    """Collective. Raises GaudiError, on every rank alike, where a rank cannot write in ``directory``.

    Each node's first rank leaves a mark there, and every rank looks which marks it can see: nodes may share a file
    system or not, and nothing else tells reliably.
    """
    everyone = everyone or torch.distributed.new_group(backend="gloo")
    fence = Fence(directory, generation_from(os.environ))
    place = Place(directory, (), 0, everyone, everyone, fence)
    mark = directory / f"{MARK}{secrets.token_hex(8)}"
    marks = place.gather(_make(mark) if ranks.local_rank == 0 else "")
    failed = {rank: reported for rank, reported in enumerate(marks) if isinstance(reported, int)}
    if failed:
        error = next(iter(failed.values()))
        if marks[ranks.rank] and ranks.rank not in failed:
            mark.unlink()
        raise GaudiError(
            f"{option}: rank {', '.join(map(str, failed))} cannot write checkpoints to {directory}: "
            f"{os.strerror(error)}; make it writable there, or choose another."
        )
    seen = next((number for number, name in enumerate(marks) if name and (directory / str(name)).exists()), -1)
    of_ranks = place.gather(seen)
    if ranks.local_rank == 0:
        mark.unlink()
    together = [tuple(rank for rank, other in enumerate(of_ranks) if other == one) for one in sorted({*of_ranks})]
    # Saves run in the background of a training: they get a group of their own, even where it is all ranks.
    groups = [torch.distributed.new_group(list(members), backend="gloo") for members in together]
    number = sorted({*of_ranks}).index(seen)
    return Place(directory, together[number], len(together), groups[number], everyone, fence)


def _make(mark: Path) -> str | int:
    """Its name, or the number of the error."""
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as error:
        return error.errno or 0
    return mark.name
