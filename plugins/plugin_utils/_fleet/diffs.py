# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A diff that a module returns, without anything that a terminal obeys; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import visible


def diffs_of(result: Mapping[str, Any]) -> list[Any]:
    """Those of the task, or of each item of its loop; a file that does not change has none."""
    items = [one for one in result.get("results") or [] if isinstance(one, Mapping)]
    return [harmless(one["diff"]) for one in items or [result] if one.get("diff") and one.get("changed")]


def harmless(value: Any) -> Any:
    """The diff as new objects, all of its texts written out."""
    if isinstance(value, Mapping):
        return {name: harmless(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [harmless(one) for one in value]
    return visible(value) if isinstance(value, str) else value
