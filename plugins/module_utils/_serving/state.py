# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The instances of a node: what is there, what is to be, and the way from one to the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Mapping

from .._job.cards_in_use import choosing
from .._node.commands import Run
from .._node.rendered_files import FileChange, differences, pending
from .._node.systemd_units import reload_units
from .answers import shown, wait_for
from .apply import apply, forget, prepare, stop
from .control import Control, known_instances
from .engines import Engine, choose_engine, refuse_holes
from .node_plan import Node, planned
from .options import ABSENT, STARTED, ServingOptions, check_local, check_options, check_secrets
from .plan import no_files
from .ready import ANSWERING, STARTING
from .runtime import bring_runtime, check_runtime, look_at_runtime
from .source import check_source, find_source


def converge(
    options: ServingOptions,
    run: Run,
    check_mode: bool,
    node: Node | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    node = node or Node()
    check_options(options)
    before = {one.name: one for one in known_instances(node.paths.control_directory)}
    if options.state == ABSENT:
        return _removed(before.values(), run, check_mode, node)
    check_secrets(options)
    check_local(node.paths.state, node.proc)
    check_runtime(options.runtime)
    engine = choose_engine(options.engine_version, options.release, options.release_overrides)
    sources = {
        one.name: find_source(one, options.registry, options.fingerprint, node.paths.models, run)
        for one in options.targets
    }
    architectures = {str(name) for source in sources.values() for name in source.config.get("architectures") or ()}
    refuse_holes(engine, options.accept_holes, architectures)
    runtime, brings = look_at_runtime(options.runtime, engine, run, check_mode=check_mode)
    plan = planned(options, engine, runtime, sources, before, run, node, brings)
    for one in plan.wanted:
        if one.instance.name in plan.starts:
            check_source(one.source)
    # All that is refused was refused.
    if plan.steps and not check_mode:
        if brings:
            bring_runtime(options.runtime, engine, run)
        prepare(plan, node)
        with choosing(node.state_directory):
            plan = planned(options, engine, runtime, sources, before, run, node, brings)
            apply(plan, run, node)
    rows = [shown(one) for one in plan.wanted]
    if options.state == STARTED and not check_mode:
        rows = [{**row, **wait_for(one, options, run, sleep)} for row, one in zip(rows, plan.wanted)]
    elif options.state == STARTED:
        rows = [{**row, "state": STARTING if row["name"] in plan.starts else ANSWERING} for row in rows]
    changes = [change for found in plan.changes.values() for change in found]
    changes += pending(file for one in plan.gone for file in no_files(node.of(one.name))) if check_mode else []
    return _result(plan.steps, changes, rows, engine, [one.name for one in plan.gone])


def _removed(before: Iterable[Control], run: Run, check_mode: bool, node: Node) -> dict[str, Any]:
    gone = list(before)
    changes = pending(file for one in gone for file in no_files(node.of(one.name)))
    if not check_mode:
        for one in gone:
            stop(node.of(one.name), run, forever=True)
            forget(node.of(one.name))
        if gone:
            reload_units(run)
    return _result([f"remove {one.name}" for one in gone], changes, [], None, [one.name for one in gone])


def _result(
    steps: Sequence[str],
    changes: Sequence[FileChange],
    shown: Sequence[Mapping[str, Any]],
    engine: Engine | None,
    removed: Sequence[str],
) -> dict[str, Any]:
    return {
        "changed": bool(steps),
        "steps": list(steps),
        "diff": differences(changes),
        "instances": [dict(row) for row in shown],
        "engine": engine.version if engine else "",
        "removed": list(removed),
        "warnings": list(engine.warnings) if engine else [],
    }
