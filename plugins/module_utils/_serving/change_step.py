# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The steps of a change of one instance, as the role's tasks take them one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from . import change
from .control import ServingPaths, read_control

LOOK, KEEP, IDLE, ADMIT, RESTORE, DONE, ASK = "look", "keep", "idle", "admit", "restore", "done", "ask"
STEPS = (LOOK, KEEP, IDLE, ADMIT, RESTORE, DONE, ASK)
ANSWER_TOKENS = 48


@dataclass(frozen=True)
class StepOptions:
    """``instances`` are names; empty: all of the node. ``wait`` are seconds.

    ``forget``: one that is admitted has nothing to go back to.
    """

    step: str
    instances: tuple[str, ...] = ()
    limit_ms: float = 0.0
    wait: int = 20
    forget: bool = False
    prompt: str = ""
    paths: ServingPaths = field(default_factory=lambda: ServingPaths(""))

    def of(self, name: str) -> ServingPaths:
        return ServingPaths(name, self.paths.control_directory, self.paths.state, self.paths.unit_directory)


def take(options: StepOptions, run: Run, check_mode: bool) -> dict[str, Any]:
    """What the module returns; GaudiError for what is refused."""
    if options.limit_ms < 0:
        raise GaudiError(f"limit_ms is {options.limit_ms:g}; give milliseconds, or 0 for no limit.")
    if options.step == ADMIT:
        return _admit(options, run, check_mode)
    if len(options.instances) != 1:
        raise GaudiError(f"step is {options.step}, which is of one instance; give its name alone in instances.")
    if options.step in (ASK, IDLE):
        return _ask(options, check_mode)
    paths = options.of(options.instances[0])
    kept, exists = change.is_kept(paths), read_control(paths) is not None
    if options.step == LOOK:
        return {"changed": False, "kept": kept, "exists": exists}
    if options.step == RESTORE and not check_mode:
        change.restore(paths, run, options.wait)
    elif options.step == KEEP and not check_mode:
        change.keep(paths)
    elif options.step == DONE and not check_mode:
        change.done(paths)
    return {"changed": {RESTORE: True, KEEP: exists and not kept, DONE: kept}[options.step]}


def _admit(options: StepOptions, run: Run, check_mode: bool) -> dict[str, Any]:
    if check_mode:
        # Those that there will be may not be there yet; proxies keep what they have.
        return {"changed": False}
    found = change.chosen(options.instances, options.paths.control_directory)
    rows = [change.admission(one, options.limit_ms, run) for one in found]
    for row in rows if options.forget else []:
        if row["admitted"]:
            change.done(options.of(row["name"]))
    return {"changed": False, "instances": rows}


def _ask(options: StepOptions, check_mode: bool) -> dict[str, Any]:
    control = read_control(options.of(options.instances[0]))
    if options.step == IDLE:
        wait = 0 if check_mode else options.wait
        return {"changed": False, "in_flight": 0 if control is None else change.in_flight(control, wait)}
    one = change.chosen(options.instances, options.paths.control_directory)[0]
    text = "" if check_mode else change.completion(one, options.prompt, ANSWER_TOKENS)
    return {"changed": False, "text": text, "served_name": one.served_name}
