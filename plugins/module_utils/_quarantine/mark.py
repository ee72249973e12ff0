# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The mark of a node that is to get no new training, and what a launch says to one that has it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .._errors import GaudiError
from .._node.json_file import parse_object
from .._node.rendered_files import WantedFile, differences, pending, read_text, write
from .._qualify.outcome import UTC, read_outcome
from .fitness import why_not_returned

PATH = "/etc/gaudi3_scale/quarantine.json"
QUARANTINED, RETURNED, RELEASED = "quarantined", "returned", "released"
_LONGEST_H = 8760
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@dataclass(frozen=True)
class Mark:
    """Why, since and until when, by the node's clock in UTC, and whose it is; all are empty on a node that has none.

    Without ``until`` it does not end by itself.
    """

    reason: str = ""
    since: str = ""
    owner: str = ""
    until: str = ""


@dataclass(frozen=True)
class Wanted:
    """``owner`` is whose mark is made, or whose alone is taken away; ``hours`` after which it ends, never with 0."""

    state: str
    reason: str = ""
    owner: str = ""
    hours: float = 0.0


def read_mark(path: str = PATH, now: datetime | None = None) -> Mark:
    """The mark. A file that is none of ours is one, too: somebody has meant that this node shall wait."""
    text = read_text(path)
    if text is None:
        return Mark()
    try:
        said = parse_object(text)
    except ValueError as error:
        return Mark(f"{path} cannot be read: {error}", "an unknown time")
    until = str(said.get("until") or "")
    if until and until <= _at(now):
        return Mark()
    return Mark(
        str(said.get("reason") or "no reason given"),
        str(said.get("since") or "an unknown time"),
        str(said.get("owner") or ""),
        until,
    )


def refuse_quarantined(path: str = PATH) -> None:
    """Raises GaudiError on a node that has the mark."""
    mark = read_mark(path)
    if mark.since:
        raise GaudiError(
            f"it has been in quarantine since {mark.since}: {mark.reason.rstrip('.')}; return it with return_node.yml "
            "once it is qualified, release it with quarantine_node.yml and gaudi_quarantine_state=released, or leave "
            "it out of the job's hosts."
        )


def converge(
    wanted: Wanted, check_mode: bool, path: str = PATH, outcome: str | None = None, now: datetime | None = None
) -> dict[str, object]:
    """Mark the node, or take the mark away; a node that has one keeps its first reason, time and owner.

    ``outcome`` is where the node's last qualification is kept. Raises GaudiError where the mark has to stay.
    """
    _check(wanted)
    mark = read_mark(path, now)
    if wanted.state != QUARANTINED:
        _refuse_to_lift(wanted, mark, read_outcome(outcome) if outcome else read_outcome())
        mark, content = Mark(), None
    elif mark.since:
        content = read_text(path)
    else:
        mark = Mark(wanted.reason, _at(now), wanted.owner, _at(now, wanted.hours) if wanted.hours else "")
        content = json.dumps(asdict(mark), indent=2) + "\n"
    changes = pending([WantedFile(path, content)])
    shown = differences(changes)
    for change in [] if check_mode else changes:
        write(change)
    return {"changed": bool(changes), "diff": shown, **answer(mark)}


def _check(wanted: Wanted) -> None:
    if not 0 <= wanted.hours <= _LONGEST_H:
        raise GaudiError(f"hours is {wanted.hours:g}; give 0, which sets no limit, or up to {_LONGEST_H}, one year.")
    if wanted.owner and not _OWNER.fullmatch(wanted.owner):
        raise GaudiError(
            f"owner is {wanted.owner!r:.80}; give one word, such as anna, ticket-4711 or anna@example.org."
        )


def _refuse_to_lift(wanted: Wanted, mark: Mark, outcome: Mapping[str, Any]) -> None:
    if not mark.since:
        return
    why = f"{mark.since} for {mark.reason.rstrip('.')}"
    if wanted.owner and wanted.owner != mark.owner:
        raise GaudiError(
            f"owner {wanted.owner}: the quarantine, since {why}, belongs to {mark.owner or 'no named owner'}; "
            "leave owner empty to end it anyway."
        )
    refusal = why_not_returned(mark.since, outcome) if wanted.state == RETURNED else ""
    if refusal:
        raise GaudiError(f"it stays in quarantine, since {why}: {refusal}")


def _at(now: datetime | None, hours: float = 0.0) -> str:
    moment = (now or datetime.now(timezone.utc)) + timedelta(hours=hours)
    return moment.strftime(UTC)


def answer(mark: Mark) -> dict[str, object]:
    """What both modules return."""
    return {"quarantined": bool(mark.since), **asdict(mark)}
