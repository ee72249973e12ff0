# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What is shown while instances warm up: how far each is, and how long it will take at that pace; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._serving.ready import STARTING
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.warm_up import WarmUp, remaining_seconds


def waits(result: Mapping[str, Any]) -> bool:
    """Whether an instance has not answered yet."""
    instances = result.get("instances") or []
    return not result.get("failed") and any(one.get("state") == STARTING for one in instances)


def joined(first: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """The result of all calls: what the first one changed, and how all stand after the last."""
    kept = {name: first[name] for name in ("steps", "diff", "removed") if name in first}
    return {**last, **kept, "changed": bool(first.get("changed")) or bool(last.get("changed"))}


class Progress:
    """Keeps what each instance said last, by which its pace is known."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[WarmUp, float]] = {}

    def lines(self, host: str, instances: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
        """One for each that does not answer yet."""
        for one in instances:
            if one.get("state") == STARTING:
                yield f"{host}: {one['name']}: {one.get('warm_up')}{self._left(one, now)}"

    def _left(self, one: Mapping[str, Any], now: float) -> str:
        words = str(one.get("warm_up")).split()
        found = WarmUp(words[1] if len(words) > 2 else "", int(one.get("done") or 0), int(one.get("of") or 0))
        before, then = self._before.get(one["name"], (WarmUp(), now))
        self._before[one["name"]] = (found, now)
        seconds = remaining_seconds(before, found, now - then)
        if seconds is None:
            return ""
        return (
            f", about {max(1, round(seconds / 60))} min left of this phase"
            if seconds > 90
            else f", about {seconds:.0f} s left of this phase"
        )

    @staticmethod
    def too_late(instances: Sequence[Mapping[str, Any]]) -> str:
        """The refusal of those that did not answer in time."""
        late = next(one for one in instances if one.get("state") == STARTING)
        return (
            f"instance {late['name']} has not answered within ready_timeout ({late.get('warm_up')}), and goes on "
            f"starting; run this again to wait for it, or see `journalctl -u {late['unit']}` on the node."
        )
