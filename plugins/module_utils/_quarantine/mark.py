# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The mark of a node that is to get no new training, and what a launch says to one that has it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from .._errors import GaudiError
from .._node.json_file import parse_object
from .._node.rendered_files import WantedFile, differences, pending, read_text, write

PATH = "/etc/gaudi3_scale/quarantine.json"
QUARANTINED, RELEASED = "quarantined", "released"


@dataclass(frozen=True)
class Mark:
    """Why and since when, by the node's clock in UTC. Both are empty on a node that has none."""

    reason: str = ""
    since: str = ""


def read_mark(path: str = PATH) -> Mark:
    """The mark. A file that is none of ours is one, too: somebody has meant that this node shall wait."""
    text = read_text(path)
    if text is None:
        return Mark()
    try:
        said = parse_object(text)
    except ValueError as error:
        return Mark(f"{path} cannot be read: {error}", "an unknown time")
    return Mark(str(said.get("reason") or "no reason given"), str(said.get("since") or "an unknown time"))


def refuse_quarantined(path: str = PATH) -> None:
    """Raises GaudiError on a node that has the mark."""
    mark = read_mark(path)
    if mark.since:
        raise GaudiError(
            f"it is in quarantine since {mark.since}: {mark.reason.rstrip('.')}; release it by "
            "quarantine_node.yml with gaudi_quarantine_state=released, or leave it out."
        )


def converge(state: str, reason: str, check_mode: bool, path: str = PATH) -> dict[str, object]:
    """Mark the node, or take the mark away; a node that has one keeps its first reason and time."""
    mark = read_mark(path)
    if state == QUARANTINED and not mark.since:
        mark = Mark(reason, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        content: str | None = json.dumps(asdict(mark), indent=2) + "\n"
    elif state == QUARANTINED:
        content = read_text(path)
    else:
        mark, content = Mark(), None
    changes = pending([WantedFile(path, content)])
    shown = differences(changes)
    for change in [] if check_mode else changes:
        write(change)
    return {"changed": bool(changes), "diff": shown, **answer(mark)}


def answer(mark: Mark) -> dict[str, object]:
    """What both modules return."""
    return {"quarantined": bool(mark.since), **asdict(mark)}
