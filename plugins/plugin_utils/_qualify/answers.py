# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node answers of its own qualification, as it may be used; pure."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    ABSENT,
    ENDED,
    FAILED,
    INTERRUPTED,
    PASSED,
    RUNNING,
    UNKNOWN,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    by_name,
    number,
    one_of,
    record,
    said,
    several,
    whole,
    word,
)

_MOST_TESTS, _MOST_REASONS = 500, 100
_TEST = record(
    {
        "test": word,
        "stage": word,
        "state": one_of(PASSED, FAILED, UNKNOWN),
        "reasons": several(said, _MOST_REASONS),
        "remarks": several(said, _MOST_REASONS),
        "seconds": number,
        "action": word,
    },
    {"limit": number},
)
# What hpu_qualify_info tells.
QUALIFIED = record(
    {
        "state": one_of(ABSENT, RUNNING, ENDED, INTERRUPTED),
        "level": word,
        "current": word,
        "done": whole(most=_MOST_TESTS),
        "total": whole(most=_MOST_TESTS),
        "tests": several(_TEST, _MOST_TESTS),
        "left_out": by_name(said, _MOST_TESTS),
        "generation": word,
        "release": word,
    }
)
