# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node knows of itself and of a job, as an audit asks for it: read from what is there, not measured again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._cards import hpu_facts
from .._cards.node_system import read_kernel, read_system
from .._errors import GaudiError
from .._follow.history import lines_of_runs
from .._follow.state import read_worker_group
from .._follow.status import read_status
from .._follow.usage import last_usage
from .._follow.worker_group import ABSENT, FAILED
from .._job.paths import NAME, JobPaths, check_name
from .._node import environment_file, kernel_modules
from .._node.commands import Run
from .._node.rendered_files import read_text
from .._node.secret_words import is_secret
from .._qualify.files import Files
from .system import look

# Of a node that has run jobs for years, the newest.
MOST_JOBS = 200
MOST_DISAGREEMENTS = 100
_OF_START = (
    *("precision", "compiled", "clip", "schedule", "checkpointing", "batch_size", "workers", "checkpoint_every"),
    *("gradient_compression", "world_size", "nodes", "parameters", "device", "flags", "versions", "sharding"),
)
_OF_STEP = ("step", "loss", "tokens_per_second", "samples_per_second", "seconds", "memory_bytes", "gradient_norm")


def gather(
    run: Run,
    job: str,
    flags: str,
    qualification: str,
    state_directory: str,
    log_directory: str,
    kernel_root: str = "/",
) -> dict[str, Any]:
    """``job`` empty: of none. Raises GaudiError for a name that cannot be one."""
    about = JobPaths(check_name(job), state_directory, log_directory) if job else None
    return {
        # The real kernel's, as the jobs' processes are.
        "system": look("/"),
        "flags": _flags(flags),
        "qualification": _qualification(Files(qualification)),
        "jobs": _jobs(state_directory, log_directory, run),
        "job": _job(about, run) if about else {},
        "cards": _cards(run, kernel_root),
        "stack": _stack(kernel_root),
    }


def _stack(kernel_root: str) -> dict[str, Any]:
    """What has a life cycle: the driver that is loaded, the kernel, the operating system."""
    return {
        "driver": kernel_modules.loaded_version(kernel_root) or "",
        "kernel": read_kernel(kernel_root).release or "",
        "os": read_system().os,
    }


def _cards(run: Run, kernel_root: str) -> dict[str, Any]:
    """Where the kernel, hl-smi and HLML disagree about the cards, with a known reason and without one."""
    facts = hpu_facts.gather(run, kernel_root, hlml=True, ports=False)
    driven = [card for card in facts.cards if card.accel_index is not None]
    found = [(one, card.pci_address) for card in driven for one in card.disagreements]
    return {
        "compared": len(driven),
        "explained": [f"{one} at {address}" for one, address in found if one.reason][:MOST_DISAGREEMENTS],
        "unexplained": [f"{one} at {address}" for one, address in found if not one.reason][:MOST_DISAGREEMENTS],
        "hlml_reason": facts.hlml.reason,
    }


def _flags(path: str) -> dict[str, str] | None:
    """None where there is no such file, or none of ours."""
    text = read_text(path)
    try:
        flags = {} if text is None else environment_file.parse(text, path)
        return None if text is None else {name: value for name, value in flags.items() if not is_secret(name)}
    except GaudiError:
        return None


def _qualification(files: Files) -> dict[str, Any]:
    verdict = files.read(files.verdict)
    return {name: verdict[name] for name in ("state", "time", "level") if isinstance(verdict.get(name), str)}


def _jobs(state_directory: str, log_directory: str, run: Run) -> dict[str, int]:
    """How many jobs this node knows that are over or run, and how many failed."""
    try:
        places = sorted(Path(state_directory, "control").iterdir(), key=lambda place: place.lstat().st_mtime)
    except OSError:
        places = []
    names = [place.name for place in places if NAME.fullmatch(place.name)][-MOST_JOBS:]
    states = [read_worker_group(JobPaths(name, state_directory, log_directory), run).state for name in names]
    known = [state for state in states if state != ABSENT]
    return {"known": len(known), "failed": sum(state == FAILED for state in known)}


def _job(paths: JobPaths, run: Run) -> dict[str, Any]:
    """Empty where this node does not know it."""
    state = read_worker_group(paths, run).state
    if state == ABSENT:
        return {}
    lines = lines_of_runs(paths, "metrics.jsonl")
    return {
        "state": state,
        "start": _part(_last(lines, "start"), _OF_START),
        "step": _part(_last(lines, "step"), _OF_STEP),
        "checkpoint": _part(_last(lines, "checkpoint"), ("seconds", "blocked_seconds", "bytes")),
        "end": _part(_last(lines, "end"), ("validation_loss", "last_loss")),
        "restarts": read_status(paths).restarts,
        "usage": last_usage(paths),
    }


def _last(lines: list[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    return next((line for line in reversed(lines) if line.get("kind") == kind), {})


def _part(line: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: line[name] for name in names if line.get(name) is not None}
