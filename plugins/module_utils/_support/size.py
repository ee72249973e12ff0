# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How large a support bundle may be: it is in memory on the node, and on its way to the controller."""

from __future__ import annotations

from .._errors import GaudiError

LEAST_MIB, MOST_MIB = 1, 48
OPTION = "max_mib"


def whole_lines(text: str, is_end: bool) -> str:
    """Without the rest of a line at the beginning of an end: a value there has lost the name that says what it is."""
    return text.partition("\n")[2] if is_end else text


def bytes_of(mib: int) -> int:
    """Raises GaudiError for a size that nobody can mean."""
    if not LEAST_MIB <= mib <= MOST_MIB:
        raise GaudiError(f"{OPTION} is {mib}; give {LEAST_MIB} to {MOST_MIB}, in MiB of text on each node.")
    return mib << 20
