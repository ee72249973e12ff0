# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes in bytes as they are written for nccl-tests: ``64K``, ``1M``, ``2G``, and ranges of them."""

from __future__ import annotations

import argparse
import re

from gaudi3_scale.core._errors import GaudiError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MOST = 1 << 40


def to_bytes(text: str) -> int:
    """A size of 4 bytes to a tebibyte; raises ArgumentTypeError for anything else."""
    found = re.fullmatch(r"([0-9]{1,15})([KMG]?)", text.strip(), re.IGNORECASE)
    size = int(found[1]) * UNITS[found[2].upper()] if found else 0
    if not 4 <= size <= MOST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size; write bytes from 4 to 1024G, such as 65536, 64K or 1M"
        )
    return size


def sizes_of(smallest: int, largest: int, factor: int) -> list[int]:
    """``smallest``, times ``factor`` and so on, as far as ``largest``."""
    if smallest > largest:
        raise GaudiError(f"--min-bytes is {smallest} and --max-bytes {largest}; give a range from small to large.")
    if factor < 2 and smallest != largest:
        raise GaudiError(f"--factor is {factor}; give 2 or more, the factor from one size to the next.")
    sizes = [smallest]
    while sizes[-1] * factor <= largest and factor > 1:
        sizes.append(sizes[-1] * factor)
    return sizes
