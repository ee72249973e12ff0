# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One collective at one size: every element checked, then timed for a bounded time."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
import torch.distributed

from gaudi3_scale.batch.out_of_memory import is_out_of_memory
from gaudi3_scale.collectives.operations import Collective, Place
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import synchronize
from gaudi3_scale.ranks import gather_reals

FEWEST, MOST = 3, 1000


@dataclass(frozen=True)
class Measured:
    """``seconds`` of one call, the mean of ``repeats`` calls back to back and of all ranks, as nccl-tests has it.
    ``size`` is in bytes, of the larger buffer of a rank; GB are 10^9 bytes.
    """

    size: int
    seconds: float
    repeats: int
    factor: float

    @property
    def algbw(self) -> float:
        """GB/s."""
        return self.size / self.seconds / 1e9

    @property
    def busbw(self) -> float:
        """GB/s through each rank's link."""
        return self.algbw * self.factor


def measure(collective: Collective, place: Place, device: torch.device, dtype: torch.dtype, budget: float) -> Measured:
    """Check the collective and time it for about ``budget`` seconds, with as many calls on every rank.

    Raises GaudiError on a rank that got wrong values, and where the device has no memory for the buffers.
    """
    size = dtype.itemsize * place.elements
    try:
        given = collective.inputs(place).to(dtype).to(device)
        got = given if collective.in_place else torch.empty(collective.outputs(place), dtype=dtype, device=device)
        first = _timed(collective, given, got, device, 1)
        _check(collective, place, got)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise GaudiError(
            f"{collective.name} of {size} bytes does not fit into the {device.type} memory of rank {place.rank}; give "
            "a smaller --max-bytes."
        ) from error
    # The first call also connects; what is added up again and again would end as infinity.
    given.zero_()
    second = min(first, _timed(collective, given, got, device, 1))
    slowest = max(seconds for (seconds,) in gather_reals([second], device))
    repeats = min(MOST, max(FEWEST, int(budget / max(slowest, 1e-9))))
    seconds = _timed(collective, given, got, device, repeats) / repeats
    everybody = [each for (each,) in gather_reals([seconds], device)]
    return Measured(size, sum(everybody) / len(everybody), repeats, collective.factor(place.world_size))


def _timed(collective: Collective, given: torch.Tensor, got: torch.Tensor, device: torch.device, calls: int) -> float:
    synchronize(device)
    torch.distributed.barrier()
    start = time.perf_counter()
    for _call in range(calls):
        collective.call(given, got)
    synchronize(device)
    return time.perf_counter() - start


def _check(collective: Collective, place: Place, got: torch.Tensor) -> None:
    expected = collective.expected(place).to(got.dtype)
    wrong = (got.cpu() != expected).nonzero().flatten()
    if len(wrong):
        where = int(wrong[0])
        raise GaudiError(
            f"{collective.name} over {place.world_size} ranks gave rank {place.rank} {len(wrong)} wrong values of "
            f"{len(expected)}, the first at {where}: {float(got[where]):g} instead of {float(expected[where]):g}; "
            "check the links between the nodes."
        )
