# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""fio's phases over all nodes at the same time, one phase after the other; pure but for who is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.fio import PHASES, RANDOM_READ, WRITE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import Kind, number, record, taken, whole, word
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

MODULE = "gaudi3.scale.storage_rates"
ANSWER: Kind = record(
    {"bytes_per_s": number, "iops": number, "p99_s": number, "seconds": number, "written": whole(), "file_system": word}
)


@dataclass(frozen=True)
class Settings:
    """As the options of the module ``storage_measurement``; sizes in bytes."""

    directory: str
    files: int
    size: int
    block: int
    read_bytes: int
    seconds: int
    user: str
    install: bool


@dataclass(frozen=True)
class Rates:
    """``phases``: what each node answered, by phase. ``failed``: why a node has no figures."""

    phases: Mapping[str, Mapping[str, Mapping[str, Any]]]
    failed: Mapping[str, str]

    def total(self, phase: str) -> float:
        """Bytes a second of all nodes together."""
        return float(sum(answer["bytes_per_s"] for answer in self.phases.get(phase, {}).values()))


def measured(hosts: Sequence[str], settings: Settings, ask: Ask, show: Callable[[str], None]) -> Rates:
    """A node that fails in a phase is in none that follows; the files of all are removed, whatever happens."""
    phases: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    written: dict[str, int] = {}
    try:
        for phase in PHASES:
            going = [host for host in hosts if host not in failed]
            if not going:
                break
            answers = ask(MODULE, {host: _arguments(phase, host, settings, written.get(host)) for host in going})
            phases[phase] = {}
            for host, answer in answers.items():
                try:
                    phases[phase][host] = _taken(host, answer)
                except GaudiError as error:
                    failed[host] = str(error)
            if phase == WRITE:
                written = {host: answer["written"] for host, answer in phases[phase].items()}
            show(f"{phase.replace('_', ' ')}: {_told(phases[phase])}")
    finally:
        removed = {host: {**_own(host, settings), "phase": "remove"} for host in hosts if host not in failed}
        if removed:
            ask(MODULE, removed)
    whole_way = {host for host in hosts if host not in failed}
    return Rates(
        {phase: {host: one for host, one in found.items() if host in whole_way} for phase, found in phases.items()},
        failed,
    )


def _arguments(phase: str, host: str, settings: Settings, written: int | None) -> dict[str, Any]:
    block = settings.read_bytes if phase == RANDOM_READ else settings.block
    size = settings.size if written is None else written
    return {**_own(host, settings), "phase": phase, "size": size, "block": block, "seconds": settings.seconds}


def _own(host: str, settings: Settings) -> dict[str, Any]:
    return {
        "directory": settings.directory,
        "node": re.sub(r"[^A-Za-z0-9_.-]", "_", host).lstrip(".-"),
        "files": settings.files,
        "user": settings.user,
        "install": settings.install,
    }


def _taken(host: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer.get("unreachable") or answer.get("failed"):
        raise GaudiError(str(answer.get("msg") or "no reason given"))
    found: dict[str, Any] = taken(host, "storage_rates", ANSWER, answer)
    return found


def _told(answers: Mapping[str, Mapping[str, Any]]) -> str:
    total = sum(answer["bytes_per_s"] for answer in answers.values())
    return f"{quantity(total / 1e6)} MB/s by {len(answers)} nodes together"
