# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Names as people list them in a sentence."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = 6


def listed(names: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; each once, and of very many the first."""
    each = list(dict.fromkeys(names))
    if len(each) > _SHOWN + 1:
        each = [*each[:_SHOWN], f"{len(each) - _SHOWN} more"]
    return " and ".join(filter(None, (", ".join(each[:-1]), *each[-1:])))
