# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the module audit_facts answers, as the controller takes it."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    MOST_NAMES,
    Kind,
    RefusedError,
    by_name,
    maybe,
    number,
    record,
    said,
    scalar,
    several,
    whole,
    word,
)

_DEEPEST = 3


def _value(value: Any, field: str, depth: int = _DEEPEST) -> Any:
    """What a line of a job may hold: a scalar, or names with such values."""
    if not isinstance(value, dict):
        return [scalar(one, field) for one in value[:MOST_NAMES]] if isinstance(value, list) else scalar(value, field)
    if not depth:
        raise RefusedError(field, f"at most {_DEEPEST} levels deep")
    return by_name(lambda one, name: _value(one, name, depth - 1))(value, field)


_LINE: Kind = by_name(_value)
_SHARE: Kind = maybe(number)
_MOST_DISAGREEMENTS = 100
FACTS: Kind = record(
    {
        "system": record({"cpu_busy": _SHARE, "io_wait": _SHARE, "memory_used": _SHARE}),
        "flags": maybe(by_name(said)),
        "qualification": record({}, {"state": word, "time": word, "level": word}),
        "jobs": record({"known": whole(), "failed": whole()}),
        "job": record(
            {},
            {
                "state": word,
                "start": _LINE,
                "step": _LINE,
                "checkpoint": _LINE,
                "end": _LINE,
                "restarts": whole(),
                "usage": _LINE,
            },
        ),
    },
    {
        "cards": record(
            {
                "compared": whole(),
                "explained": several(said, _MOST_DISAGREEMENTS),
                "unexplained": several(said, _MOST_DISAGREEMENTS),
                "hlml_reason": said,
            }
        ),
        "stack": record({"driver": said, "kernel": said, "os": said}),
    },
)
