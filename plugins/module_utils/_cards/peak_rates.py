# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The most matrix operations a second that a kind of card can do, by precision.

A card or a precision that has no row here has no published figure that could be traced: nothing is told of it then.
"""

from __future__ import annotations

from dataclasses import dataclass

from .accel_sysfs import pci_cards, told_model
from .hardware import label_of

_INTEL = "Intel's product pages and white papers of the card, as published"
_NVIDIA = "NVIDIA's data sheet of the card: 1,979 with sparsity, which is twice the dense rate"


@dataclass(frozen=True)
class PeakRate:
    """``card`` is a board's label in the table of hardware, or how a CUDA device's name begins.

    ``tflops`` are 10^12 operations a second of dense matrices, a multiplication and an addition being two.
    """

    card: str
    precision: str
    tflops: float
    source: str


PEAK_RATES: tuple[PeakRate, ...] = (
    PeakRate("HL-225", "bf16", 432.0, _INTEL),
    PeakRate("HL-225", "fp8", 865.0, _INTEL),
    # Another source has 1,678 in bf16: with the higher one a utilization is never told too high.
    PeakRate("HL-325L", "bf16", 1835.0, _INTEL),
    PeakRate("HL-325L", "fp8", 1835.0, _INTEL),
    PeakRate("NVIDIA H100 80GB HBM3", "bf16", 989.4, _NVIDIA),
    PeakRate("NVIDIA H200", "bf16", 989.4, _NVIDIA),
)
# Other names of what these rows are about; the PCIe cards have the same chip and less power, so no figure is theirs.
_SAME = {"HL-325L (die 1)": "HL-325L"}
# Cards whose names begin as another's, and that are slower.
_OTHERS = ("NVIDIA H200 NVL",)


def peak_of(card: str, precision: str) -> PeakRate | None:
    """The row of a board's label or a CUDA device's name; None where no source says."""
    if card.startswith(_OTHERS):
        return None
    label = _SAME.get(card, card)
    return next(
        (
            row
            for row in PEAK_RATES
            if row.precision == precision and (row.card == label or (_is_cuda(row) and label.startswith(row.card)))
        ),
        None,
    )


def gaudi_label(kernel_root: str = "/") -> str:
    """The board of this node's cards, by PCI id and what the node calls it; empty where they differ, or one is not
    known.
    """
    labels = {label_of(card.pci_id, told_model(card, kernel_root)) for card in pci_cards(kernel_root)}
    return labels.pop() if len(labels) == 1 else ""


def _is_cuda(row: PeakRate) -> bool:
    return row.card.startswith("NVIDIA")
