# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a build said: how many of its steps came from the cache, and why it failed, in one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._node.commands import last_line

_STEP = re.compile(r"^(?:\[\d+/\d+\] )?STEP (\d+)/(\d+): (.*)$", re.MULTILINE)
_CACHED = re.compile(r"^--> Using cache ", re.MULTILINE)
# pip, of a constraint that a package does not agree with.
_CONSTRAINT = re.compile(r"The user requested \(constraint\) (?P<name>[\w.-]+)==(?P<version>\S+)")
_DEPENDS = re.compile(r"^ *(?P<who>\S+ \S+) depends on (?P<name>[\w.-]+) ?(?P<wanted>[<>=!~].*)$", re.MULTILINE)
_REQUESTED = re.compile(r"The user requested (?P<name>[\w.-]+) ?(?P<wanted>[<>=!~]\S*)")
_APT = re.compile(r"^E: (.+)$", re.MULTILINE)
_PIP = re.compile(r"^ERROR: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Steps:
    """``total`` instructions, of which ``cached`` were there from an earlier build."""

    total: int = 0
    cached: int = 0


def steps(log: str) -> Steps:
    """The counts of a build's log."""
    found = _STEP.findall(log)
    return Steps(int(found[-1][1]) if found else 0, len(_CACHED.findall(log)))


def failure(log: str, stderr: str, log_file: str) -> str:
    """Why a build failed."""
    conflict = _conflict(log)
    if conflict:
        return conflict
    found = _STEP.findall(log)
    at = f" at {found[-1][2].split(' ')[0]} (step {found[-1][0]} of {found[-1][1]})" if found else ""
    reasons = _APT.findall(log) or _PIP.findall(log)
    reason = reasons[0] if reasons else last_line(stderr, last_line(log))
    return f"The build failed{at}: {reason.rstrip('.')}; the whole output is in {log_file}."


def _conflict(log: str) -> str:
    """pip refuses what wants another PyTorch than the constraints name; both versions are in its words."""
    for constraint in _CONSTRAINT.finditer(log):
        name, version = constraint["name"], constraint["version"]
        for found in _DEPENDS.finditer(log):
            if found["name"].lower().replace("_", "-") == name.lower().replace("_", "-"):
                return _sentence(found["who"], name, found["wanted"], version)
        for found in _REQUESTED.finditer(log):
            if found["name"].lower() == name.lower():
                return _sentence("the requirements file", name, found["wanted"], version)
    return ""


def _sentence(who: str, name: str, wanted: str, version: str) -> str:
    return (
        f"{who[0].upper()}{who[1:]} wants {name} {wanted}, and the vendor's image has {version}, which stays; take a "
        "version that works with it, or remove the requirement."
    )
