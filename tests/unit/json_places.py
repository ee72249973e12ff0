# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every place in a JSON document, and the document with something else there: how tests make hostile ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

# The keys and numbers that lead there; () is the document itself.
Place = tuple[Any, ...]


def places(document: object, at: Place = ()) -> Iterator[Place]:
    """Those of all values, each before what it holds."""
    yield at
    parts = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, part in parts:
        yield from places(part, (*at, key))


def with_value(document: Any, at: Place, value: object) -> Any:
    """A copy of ``document`` with ``value`` there."""
    if not at:
        return value
    changed = copy.deepcopy(document)
    holder = changed
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = value
    return changed
