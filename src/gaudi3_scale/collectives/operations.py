# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The five collectives: what each rank gives, what it has to get, and what of it passed its link.

Sizes are those of nccl-tests: the bytes of the larger of a rank's two buffers. ``algbw`` is size / seconds. ``busbw``
is that times a factor by which numbers of ranks compare: what each rank's link carried (nccl-tests, doc/PERFORMANCE.md;
Intel's hccl_demo has the same factors for its own sizes).

Each element has a value that tells where it came from, small enough to be exact in bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.distributed

# Whole numbers up to 256 are exact in bfloat16, up to 2^24 in float32.
EXACT = {torch.bfloat16: 256, torch.float32: 1 << 24}
# Of summed values, 0, 1 and 2; of moved ones, 0 to 126: primes, so that no rank's are another's at the same place.
_SUMMED, _MOVED, _STEP = 3, 127, 7


@dataclass(frozen=True)
class Place:
    """``rank`` of ``world_size``, and the ``elements`` of the larger buffer, of which each rank has an equal part."""

    rank: int
    world_size: int
    elements: int

    @property
    def part(self) -> int:
        return self.elements // self.world_size


@dataclass(frozen=True)
class Collective:
    """``inputs`` and ``expected`` make a rank's tensors on the CPU, ``call`` runs it from the one into the other.

    ``factor`` takes the number of ranks. ``in_place``: the input becomes the output. ``summed``: values are added, so
    that a type of fewer bits bounds the number of ranks.
    """

    name: str
    inputs: Callable[[Place], torch.Tensor]
    expected: Callable[[Place], torch.Tensor]
    outputs: Callable[[Place], int]
    call: Callable[[torch.Tensor, torch.Tensor], None]
    factor: Callable[[int], float]
    in_place: bool = False
    summed: bool = False


def _given(rank: int, elements: int, start: int = 0) -> torch.Tensor:
    """Values to be summed."""
    return (torch.arange(start, start + elements) + rank).remainder(_SUMMED).float()


def _sum(world_size: int, elements: int, start: int = 0) -> torch.Tensor:
    """Of three ranks in a row each element has 0 + 1 + 2."""
    whole = float(world_size // _SUMMED * sum(range(_SUMMED)))
    rest = range(world_size // _SUMMED * _SUMMED, world_size)
    return sum((_given(rank, elements, start) for rank in rest), torch.full((elements,), whole))


def _moved(rank: int, elements: int, start: int = 0) -> torch.Tensor:
    """Values to be moved."""
    return (torch.arange(start, start + elements) + _STEP * rank).remainder(_MOVED).float()


def _parts_of_all(place: Place) -> torch.Tensor:
    return torch.cat([_moved(rank, place.part) for rank in range(place.world_size)])


def _parts_for_me(place: Place) -> torch.Tensor:
    start = place.rank * place.part
    return torch.cat([_moved(rank, place.part, start) for rank in range(place.world_size)])


def _all(place: Place) -> int:
    return place.elements


def _part(place: Place) -> int:
    return place.part


def _of_others(world_size: int) -> float:
    return (world_size - 1) / world_size


def _all_to_all(given: torch.Tensor, got: torch.Tensor) -> None:
    torch.distributed.all_to_all_single(got, given)


def _all_gather(given: torch.Tensor, got: torch.Tensor) -> None:
    torch.distributed.all_gather_into_tensor(got, given)


def _reduce_scatter(given: torch.Tensor, got: torch.Tensor) -> None:
    torch.distributed.reduce_scatter_tensor(got, given)


COLLECTIVES: Mapping[str, Collective] = {
    one.name: one
    for one in (
        Collective(
            "all_reduce",
            inputs=lambda place: _given(place.rank, place.elements),
            expected=lambda place: _sum(place.world_size, place.elements),
            outputs=_all,
            call=lambda given, _got: torch.distributed.all_reduce(given),
            factor=lambda world_size: 2 * _of_others(world_size),
            in_place=True,
            summed=True,
        ),
        Collective(
            "all_gather",
            inputs=lambda place: _moved(place.rank, place.part),
            expected=_parts_of_all,
            outputs=_all,
            call=_all_gather,
            factor=_of_others,
        ),
        Collective(
            "reduce_scatter",
            inputs=lambda place: _given(place.rank, place.part * place.world_size),
            expected=lambda place: _sum(place.world_size, place.part, place.rank * place.part),
            outputs=_part,
            call=_reduce_scatter,
            factor=_of_others,
            summed=True,
        ),
        Collective(
            "all_to_all",
            inputs=lambda place: _moved(place.rank, place.part * place.world_size),
            expected=_parts_for_me,
            outputs=_all,
            call=_all_to_all,
            factor=_of_others,
        ),
        Collective(
            "broadcast",
            inputs=lambda place: _moved(place.rank, place.elements),
            expected=lambda place: _moved(0, place.elements),
            outputs=_all,
            call=lambda given, _got: torch.distributed.broadcast(given, src=0),
            factor=lambda _world_size: 1.0,
            in_place=True,
        ),
    )
}
