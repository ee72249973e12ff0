# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The file ``votes.json``: what a supervisor has voted for, kept over a loss of power."""

from __future__ import annotations

import json
import os
from pathlib import Path

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.supervisor.generation import as_plain
from gaudi3_scale.supervisor.received import ballot_of, count_of, generation_of
from gaudi3_scale.supervisor.state import Rules
from gaudi3_scale.supervisor.votes import Votes, first_votes

# Many times what the votes of 64 nodes take.
MOST_BYTES = 1 << 20


def read_votes(path: str, launch: str, rules: Rules) -> Votes | None:
    """What was kept of this launch; None where that is lost, or cannot be read. The launch itself makes the file.

    Raises GaudiError where the file is of another launch.
    """
    try:
        with Path(path).open("rb") as stream:
            data = json.loads(stream.read(MOST_BYTES))
        if data["launch"] != launch:
            raise GaudiError(f"{path} belongs to another run of this job; launch the job again.")
        return _votes(data, len(rules.names)) if "committed" in data else first_votes(rules)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _votes(data: dict[str, object], nodes: int) -> Votes:
    accepted = data["accepted"]
    if accepted is not None and not (isinstance(accepted, list) and len(accepted) == 2):
        raise ValueError("no accepted value")
    return Votes(
        incarnation=count_of(data["incarnation"]),
        remembers=count_of(data["remembers"]),
        committed=generation_of(data["committed"], nodes),
        promised=ballot_of(data["promised"], nodes),
        accepted=None if accepted is None else (ballot_of(accepted[0], nodes), generation_of(accepted[1], nodes)),
    )


def keep_votes(path: str, launch: str, votes: Votes) -> None:
    """Once this returns, they are on the disk. Raises OSError."""
    accepted = votes.accepted
    reported = {
        "launch": launch,
        "incarnation": votes.incarnation,
        "remembers": votes.remembers,
        "committed": as_plain(votes.committed),
        "promised": votes.promised,
        "accepted": None if accepted is None else [accepted[0], as_plain(accepted[1])],
    }
    place = Path(path)
    new = place.with_name(f"{place.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump(reported, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(place)
    # The new name, too, is to be there after a loss of power.
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
