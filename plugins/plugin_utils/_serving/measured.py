# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node may answer to a measurement."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    by_name,
    maybe,
    number,
    record,
    several,
    truth,
    whole,
    word,
)

# A search has seven, and nobody names a thousand loads.
MOST_RUNS = 1000
_SPREAD = by_name(number, 8)
RUN: Kind = record(
    {
        "concurrency": whole(1),
        "model": word,
        "version": word,
        "requests": whole(),
        "failed": whole(),
        "errors": by_name(whole(), 16),
        "stopped_early": truth,
        **dict.fromkeys(("seconds", "requests_per_s", "input_tokens_per_s", "output_tokens_per_s"), number),
        **dict.fromkeys(("first_token_ms", "between_tokens_ms", "per_token_ms", "request_ms"), _SPREAD),
    }
)
ANSWER: Kind = record(
    {
        "changed": truth,
        "runs": several(RUN, MOST_RUNS),
        "next": maybe(whole(1)),
        "highest_load": maybe(whole()),
        "is_highest": truth,
    },
    {"warnings": several(word)},
)
