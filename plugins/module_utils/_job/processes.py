# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The processes of a job's ranks on this node, whichever engine started them: by what their environment says."""

from __future__ import annotations

from pathlib import Path

_LONGEST_NUMBER = 9


def rank_process(job: str, proc: str = "/proc") -> str:
    """The process of the lowest rank of the job that runs here; empty where none does.

    Data-loader workers have the environment of their rank, and later numbers.
    """
    found = [
        (int(variables["RANK"]), int(place.name))
        for place in Path(proc).glob("[0-9]*")
        for variables in [environment_of(place / "environ")]
        if variables.get("GAUDI3_SCALE_JOB") == job and _is_number(variables.get("RANK", ""))
    ]
    return str(min(found)[1]) if found else ""


def _is_number(text: str) -> bool:
    """Python 3.11 refuses to read one of some thousand digits, which an account may put there."""
    return text.isdecimal() and len(text) <= _LONGEST_NUMBER


def environment_of(path: Path) -> dict[str, str]:
    """What a process was started with (proc(5), ``/proc/<pid>/environ``); empty for one that has ended meanwhile."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    return parse_environ(data)


def parse_environ(data: bytes) -> dict[str, str]:
    """The variables of an ``environ`` file of proc(5)."""
    pairs = (entry.decode(errors="replace").partition("=") for entry in data.split(b"\0") if b"=" in entry)
    return {name: value for name, _equals, value in pairs}
