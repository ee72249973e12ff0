# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices that have one right answer, whatever the order in which a device adds.

All factors are small whole numbers, and every sum of them is one that the type holds exactly: 2^24 in float32, 256 in
bfloat16. What differs from the product over integers is wrong by the device, and by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

SIDE = 1024
# Of the factors of each type, the largest magnitude, and how many products make a sum.
_FACTORS = {torch.float32: (8, SIDE), torch.bfloat16: (1, 256)}


@dataclass(frozen=True)
class Wrong:
    """``count`` of ``of`` elements of a product in ``dtype`` differ, the first in this row and column."""

    count: int
    of: int
    dtype: str
    row: int
    column: int
    got: float
    expected: float

    def __str__(self) -> str:
        return (
            f"{self.count} of {self.of} elements of a product in {self.dtype} are wrong, the first in row {self.row}, "
            f"column {self.column}: {self.got:g} instead of {self.expected:g}"
        )


def factors(dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices of whole numbers, as integers on the CPU."""
    largest, inner = _FACTORS[dtype]
    random = torch.Generator().manual_seed(seed)
    shapes = ((SIDE, inner), (inner, SIDE))
    left, right = (torch.randint(-largest, largest + 1, shape, generator=random) for shape in shapes)
    return left, right


def wrong_elements(device: torch.device, dtype: torch.dtype, seed: int) -> Wrong | None:
    """Multiply on ``device``, compare each element with the product over integers; None where all are right."""
    left, right = factors(dtype, seed)
    # In float64 every sum of these is exact, and it is as fast as the CPU can.
    expected = torch.mm(left.double(), right.double())
    got = torch.matmul(left.to(dtype).to(device), right.to(dtype).to(device)).to("cpu").double()
    differ = (got != expected).nonzero()
    if not len(differ):
        return None
    row, column = differ[0].tolist()
    name = str(dtype).partition(".")[2]
    return Wrong(len(differ), got.numel(), name, row, column, float(got[row, column]), float(expected[row, column]))
