# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Take a node out of its scheduler's service, wait until its jobs have ended, and give it back."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Callable, Sequence

from ..._errors import GaudiError
from ..._node.commands import Run
from ..._node.lock import alone
from .commands import CommandScheduler, DrainCommands
from .ownership import (
    DRAIN,
    IN_SERVICE,
    NOTHING,
    US,
    NodeService,
    Scheduler,
    decide,
    describe_jobs,
    foresee,
    our_reason,
    require_node_name,
)
from .slurm import Slurm


@dataclass(frozen=True)
class DrainOptions:
    """What the operator wants. ``wait``, ``poll`` and ``timeout`` are seconds."""

    node: str
    adapter: str
    state: str
    reason: str = "maintenance"
    only_reason: str = ""
    wait: float = 0
    poll: float = 10
    drain_command: Sequence[str] = ()
    resume_command: Sequence[str] = ()
    query_command: Sequence[str] = ()
    timeout: float = 300
    state_directory: str = "/var/lib/gaudi3_scale/drain"


@dataclass(frozen=True)
class Clock:
    """Time, as a value that a test can replace."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def converge(options: DrainOptions, run: Run, check_mode: bool, clock: Clock | None = None) -> dict[str, object]:
    """Bring the node to the state; the module's result."""
    _refuse(options)
    if options.adapter == "none":
        return {**IN_SERVICE.facts(changed=False), "diff": []}
    scheduler = scheduler_of(options, run)
    reason = our_reason(options.node, options.reason)
    # Not the wait as well: another run may have to put the node back meanwhile.
    with _one_at_a_time(options, check_mode):
        found = scheduler.observe()
        action = decide(options.state, found, options.only_reason)
        if action == NOTHING or check_mode:
            after = foresee(action, found, reason)
        else:
            after = _act(action, scheduler, options, reason)
    changed = action != NOTHING
    if options.state == "drained" and options.wait and not check_mode:
        after = _wait(scheduler, options, after, changed, clock or Clock())
    return {**after.facts(changed), "diff": _difference(options.node, found, after) if changed else []}


def scheduler_of(options: DrainOptions, run: Run) -> Scheduler:
    """The scheduler that the adapter names."""
    if options.adapter == "slurm":
        return Slurm(options.node, run)
    commands = DrainCommands(options.drain_command, options.resume_command, options.query_command, options.timeout)
    return CommandScheduler(options.node, commands, options.state_directory, run)


def _one_at_a_time(options: DrainOptions, check_mode: bool) -> AbstractContextManager[None]:
    """Slurm takes one update after the other, from any host and account that it trusts; a site's commands may not."""
    if options.adapter == "slurm":
        return nullcontext()
    return alone(f"service of {options.node}", options.state_directory, check_mode=check_mode)


def _refuse(options: DrainOptions) -> None:
    require_node_name(options.node)
    if options.wait < 0:
        raise GaudiError(f"wait is {options.wait:g}; give the seconds to wait for jobs, or 0 to wait for none.")
    if options.poll <= 0 or options.timeout <= 0:
        raise GaudiError(f"poll is {options.poll:g} and timeout {options.timeout:g}; both are seconds above 0.")
    if options.adapter == "commands" and not (options.drain_command and options.resume_command):
        raise GaudiError("The adapter commands needs drain_command and resume_command; each is a list of words.")


def _act(action: str, scheduler: Scheduler, options: DrainOptions, reason: str) -> NodeService:
    """Do it, and look whether it took effect."""
    if action == DRAIN:
        scheduler.drain(reason)
    else:
        scheduler.resume()
    after = scheduler.observe()
    if after.blocked != (action == DRAIN) and (action == DRAIN or after.drained_by == US):
        raise GaudiError(
            f"The scheduler took the command to {action} {options.node} and still shows it as {after.state};"
            " look at the node there.",
            **after.facts(changed=True),
        )
    return after


def _wait(scheduler: Scheduler, options: DrainOptions, found: NodeService, changed: bool, clock: Clock) -> NodeService:
    """Look again until no job is left. A scheduler that does not answer for a while is asked again."""
    deadline = clock.now() + options.wait
    while found.busy:
        left = deadline - clock.now()
        if left <= 0:
            raise GaudiError(_too_late(options, found), **found.facts(changed))
        clock.sleep(min(options.poll, left))
        try:
            found = scheduler.observe()
        except GaudiError:
            if clock.now() >= deadline:
                raise
            continue
        if not found.blocked:
            raise GaudiError(
                f"Somebody resumed {options.node} while this run waited for its jobs; ask who needs it.",
                **found.facts(changed),
            )
    return found


def _too_late(options: DrainOptions, found: NodeService) -> str:
    whose = "our drain stays" if found.drained_by == US else "it stays drained by somebody else"
    remedy = "run this again to wait on" + (", or resume it with state=resumed." if found.drained_by == US else ".")
    return (
        f"{options.node} still runs {describe_jobs(found.jobs)} after {options.wait:g} s;"
        f" {whose}, so it gets no new jobs: {remedy}"
    )


def _difference(node: str, before: NodeService, after: NodeService) -> list[dict[str, str]]:
    return [{"before_header": node, "after_header": node, "before": _text(before), "after": _text(after)}]


def _text(service: NodeService) -> str:
    return f"state: {service.state}\ndrained_by: {service.drained_by}\nreason: {service.reason}\n"
