# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Bring the wanted driver stack of a host's InfiniBand and RoCE cards to a node, by its package manager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._errors import GaudiError
from ..._host.kernel.values import value_difference
from ..._node.commands import Run
from ..._node.rendered_files import differences
from ..._packages.node_packages import of_node
from ..._packages.package_system import PackageSystem
from ..._packages.repository_words import checked_words
from .repository import OfedRepository, Repository, leftovers, planned, register, remove
from .stack import ASKED, DISTRIBUTION, NONE, VENDORS, check_candidates, check_stack, parse_policy, stacks


@dataclass(frozen=True)
class StackOptions:
    """The operator's choice: ``ofed`` is a word of ``verbs_stack.STACKS``, ``packages`` what it consists of here."""

    ofed: str = DISTRIBUTION
    packages: Sequence[str] = ()
    repository: OfedRepository = field(default_factory=OfedRepository)


@dataclass(frozen=True)
class StackPlan:
    """What is there and what is to be done; nothing of it has been."""

    options: StackOptions
    packages: PackageSystem
    found: dict[str, str]
    missing: Sequence[str]
    repository: Repository | None


def plan_stack(options: StackOptions, run: Run, etc: str = "/etc", root: str = "/") -> StackPlan:
    """Look, and refuse what may not be; raises GaudiError before anything is touched."""
    wanted = () if options.ofed == NONE else checked_words("packages", options.packages)
    packages = of_node(run, root)
    known = packages.query([*ASKED, *wanted])
    missing = [name for name in wanted if name not in known or not known[name].installed]
    found = stacks(known)
    check_stack(options.ofed, found, options.repository.url, missing)
    if options.ofed == DISTRIBUTION and missing and packages.name == "apt":
        check_candidates(parse_policy(run(["apt-cache", "policy", *missing]).stdout))
    repository = planned(options.repository, _architecture(packages, run), etc) if options.repository.url else None
    return StackPlan(options, packages, found, missing, repository)


def _architecture(packages: PackageSystem, run: Run) -> str:
    """dpkg's word for the node's; dnf does not ask."""
    return run(["dpkg", "--print-architecture"]).stdout.strip() or "amd64" if packages.name == "apt" else ""


def install_stack(plan: StackPlan, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, Any]:
    """Repository, then packages; returns ``diff``, ``warnings`` and the facts of the stack."""
    lock_timeout = plan.options.repository.lock_timeout
    gone = [] if plan.repository else leftovers(etc)
    diff = differences(gone)
    if plan.repository:
        diff += register(plan.repository, run, check_mode, lock_timeout)
    if plan.missing:
        diff.append(value_difference("packages", None, "\n".join(plan.missing)))
    if not check_mode:
        remove(gone)
        if plan.missing:
            _install(plan, lock_timeout)
    replaced = plan.options.ofed in VENDORS and plan.missing
    return {
        "diff": diff,
        "warnings": [_RESTART] if replaced and not check_mode else [],
        "stack": {"ofed": plan.options.ofed, "found": plan.found, "installed": list(plan.missing)},
    }


_RESTART = (
    "ofed: the kernel keeps the modules that were loaded before this installation; restart the node, or run "
    "`/etc/init.d/openibd restart` while no job runs."
)


def _install(plan: StackPlan, lock_timeout: float) -> None:
    try:
        plan.packages.prepare(plan.missing, lock_timeout)
    except GaudiError:
        # Read only where the lists on the node do not do: without internet there are sources that nobody answers.
        plan.packages.refresh(lock_timeout)
        plan.packages.prepare(plan.missing, lock_timeout)
    plan.packages.install(plan.missing, lock_timeout)
