# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What nodes answer while their networks are measured, as it may be used; pure."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO, PROVIDERS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import SIZE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    by_name,
    one_of,
    record,
    said,
    several,
    truth,
    whole,
    word,
)

_MOST_CARDS, _MOST_SIZES = 1024, 64
_PROVIDER = one_of(*PROVIDERS)
_NETWORK = record({"provider": _PROVIDER, "usable": truth, "interface": word, "reason": said})
# What hpu_fabric_networks tells.
LOOKED = record(
    {
        "requested": one_of(AUTO, *PROVIDERS),
        "provider": _PROVIDER,
        "reason": said,
        "networks": several(_NETWORK, len(PROVIDERS)),
        "cards": whole(most=_MOST_CARDS),
        "links": whole(most=_MOST_CARDS),
        "library": word,
        "measurement": lambda value, _field: value if isinstance(value, Mapping) else {},
    }
)
_ROW = record({"provider": _PROVIDER, "flags": by_name(word), "sizes": several(SIZE, _MOST_SIZES), "why": said})
# What it keeps of a measurement; the key alone says whether it is one of these two nodes.
KEPT = record({"key": word, "time": word, "rows": several(_ROW, len(PROVIDERS))})
