# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What nodes answer while their networks are measured, as it may be used; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO, PROVIDERS
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.worker_group import SUCCEEDED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    by_name,
    number,
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
_SIZE = record({"bytes": whole(1), "seconds": number, "busbw_gb_per_s": number})
_ROW = record({"provider": _PROVIDER, "flags": by_name(word), "sizes": several(_SIZE, _MOST_SIZES), "why": said})
# What it keeps of a measurement; the key alone says whether it is one of these two nodes.
KEPT = record({"key": word, "time": word, "rows": several(_ROW, len(PROVIDERS))})
# The lines of gaudi3_scale.collectives. A rank that got a wrong value has failed.
LINES = several(_SIZE, _MOST_SIZES)


def why_absent(begun: Mapping[str, Any]) -> str:
    """Why a node's ranks did not start, in one line."""
    return str(said(str(begun.get("msg") or "its ranks did not start"), "msg"))


def taken_job(node: str, name: str, ended: Mapping[str, Any]) -> None:
    """Raises GaudiError with one sentence where the node's ranks did not end well."""
    state = said(str(ended.get("state") or ended.get("msg") or "it gave no answer"), "state")
    if state == SUCCEEDED:
        return
    failure = ended.get("failure")
    why = failure.get("message") if isinstance(failure, Mapping) else ""
    reason = said(str(why or "not all ranks came together"), "failure")
    raise GaudiError(f"its ranks on {node} are {state}: {reason}; see the log of job {name} there.")
