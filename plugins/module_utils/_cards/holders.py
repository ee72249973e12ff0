# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Ending what has a card open, and starting it again: services and containers, nothing else.

A process of somebody's login session, of Kubernetes or of no unit at all is named and left to its owner.
"""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.kernel_modules import Holder

# Scopes of containers by the engine that starts them (cgroup driver systemd).
_CONTAINER = re.compile(r"^(?P<prefix>docker|libpod)-(?P<id>[0-9a-f]{12,64})\.scope$")
_ENGINES = {"docker": "docker", "libpod": "podman"}


def stoppable(holder: Holder) -> bool:
    """Whether the holder is a service or a container that can be stopped and started again."""
    return (holder.unit.endswith(".service") and not holder.unit.startswith("user@")) or bool(
        _CONTAINER.match(holder.unit)
    )


def names(holders: Iterable[Holder]) -> tuple[str, ...]:
    """The units to stop, each once."""
    return tuple(dict.fromkeys(holder.unit for holder in holders if stoppable(holder)))


def stubborn(holders: Iterable[Holder]) -> list[Holder]:
    """The holders that only their owners may end."""
    return [holder for holder in holders if not stoppable(holder)]


def stop(units: Sequence[str], run: Run) -> None:
    """Stop these units and containers; the first that cannot be stopped ends it."""
    for unit in units:
        _tell("stop", unit, run)


def start(units: Sequence[str], run: Run) -> None:
    """Start what was stopped; one that cannot be started keeps no other from it."""
    failures = []
    for unit in units:
        try:
            _tell("start", unit, run)
        except GaudiError as error:
            failures.append(error)
    if failures:
        raise GaudiError(" ".join(map(str, failures)), **failures[0].facts)


def _tell(verb: str, unit: str, run: Run) -> None:
    container = _CONTAINER.match(unit)
    command = [_ENGINES[container["prefix"]], verb, container["id"]] if container else ["systemctl", verb, unit]
    done = run(command)
    if done.rc != 0:
        said = last_line(done.stderr or done.stdout, "no reason given").rstrip(".")
        raise GaudiError(f"{' '.join(command)} failed: {said}; {verb} it manually, and run again.", unit=unit)
