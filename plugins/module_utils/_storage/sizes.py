# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Sizes as an operator writes them, and as one reads them."""

from __future__ import annotations

import re

from .._errors import GaudiError

_UNITS = "KMGTP"
_SIZE = re.compile(rf"([0-9]{{1,15}})([{_UNITS}]?)(?:iB|B)?", re.IGNORECASE)


def bytes_of(value: object, what: str) -> int:
    """``2T``, ``512M`` or a number of bytes, by powers of 1024; raises GaudiError with ``what`` for anything else."""
    found = _SIZE.fullmatch(str(value).strip())
    if isinstance(value, bool) or not found:
        raise GaudiError(f"{what} is {value!r}; give bytes, or a size such as 512M or 2T.")
    return int(found[1]) << (10 * (_UNITS.index(found[2].upper()) + 1) if found[2] else 0)


def shown(size: float) -> str:
    """In the unit that leaves three digits: ``1.5 TiB``."""
    unit = 0
    while size >= 1024 and unit < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.3g} {['B', *(f'{letter}iB' for letter in _UNITS)][unit]}"
