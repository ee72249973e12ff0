# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far a change of the driver has come, on disk: what a run after a power cut goes on from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Mapping

from .._errors import GaudiError
from .json_file import parse_json
from .rendered_files import FileChange, WantedFile, read_text, write

FILE = "var/lib/gaudi3_scale/driver.json"

CHANGING = "changing"
GOING_BACK = "going_back"
DONE = "done"
ROLLED_BACK = "rolled_back"
FAILED = "failed"
STATES = (CHANGING, GOING_BACK, DONE, ROLLED_BACK, FAILED)


@dataclass(frozen=True)
class Marker:
    """One change of the driver.

    ``previous`` and ``wanted`` are package versions (``1.23.0-695``; previous empty: a first installation),
    ``packages`` the vendor's packages with their versions before the change, ``phase`` the step that was begun last,
    ``stopped`` the units and containers that were stopped for it, ``cards`` how many cards were there before,
    ``reason`` why it failed.
    """

    state: str
    previous: str
    wanted: str
    phase: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    stopped: tuple[str, ...] = ()
    cards: int = 0
    reason: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether the change did not come to an end."""
        return self.state in (CHANGING, GOING_BACK)


def read(root: str = "/") -> Marker | None:
    """The node's marker; None on a node that never had one. Raises :class:`GaudiError` for one that is not ours."""
    file = str(Path(root, FILE))
    text = read_text(file)
    if text is None:
        return None
    try:
        data = parse_json(text)
        marker = Marker(**{**data, "stopped": tuple(data.get("stopped", ()))})
        if marker.state not in STATES:
            raise ValueError(f"its state is {marker.state!r}")
    except (ValueError, TypeError, AttributeError) as error:
        raise GaudiError(
            f"{file}, which records how far a change of the driver came, cannot be read ({error}); see what "
            "`dpkg -l 'habanalabs*'` (or `rpm -qa`) and `dkms status` say, then remove the file.",
            file=file,
        ) from error
    return marker


def keep(marker: Marker, root: str = "/") -> Marker:
    """Put the marker on disk before what it tells of is done; returns it."""
    names = [spec.name for spec in fields(Marker)]
    data = {name: asdict(marker)[name] for name in names}
    file = WantedFile(str(Path(root, FILE)), json.dumps(data, indent=2) + "\n")
    write(FileChange(file, None, None))
    return marker


def begun(marker: Marker, phase: str, root: str) -> Marker:
    """The marker with the next step's name in it, on disk."""
    return keep(replace(marker, phase=phase), root)
