# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The way from what is on a node to what is to be: models, directories, files and units, in this order."""

from __future__ import annotations

from pathlib import Path

from .._containers.image_reference import DIGEST
from .._job.container import enter
from .._launch.node_programs import ENTER, install
from .._node.account_directory import give, let_group_read, remove
from .._node.commands import Run
from .._node.job_user import account
from .._node.rendered_files import pending, write
from .._node.systemd_units import disable, enable, reload_units
from .._node.umask import readable_by_all
from . import model_check
from .control import ACCOUNT, Control, ServingPaths, known_instances
from .node_plan import Node, NodePlan
from .plan import no_files
from .ready import did_not_start
from .runtime import CHECK
from .source import bring

# What the programs on the node are made of, which Ansible sends because it is imported.
SENT = (enter, model_check, DIGEST)


def prepare(plan: NodePlan, node: Node) -> None:
    """Bring models and programs: what takes long, and disturbs nobody."""
    with readable_by_all():
        for path in _directories(node):
            Path(path).mkdir(parents=True, exist_ok=True)
        install(node.paths.programs, CHECK)
        install(node.paths.programs, ENTER)
        named = {one.model for one in known_instances(node.paths.control_directory)}
        # Several instances of one model have one copy.
        sources = {one.source.directory: one.source for one in plan.wanted}
        for source in sources.values():
            bring(source, node.paths.models, named | set(sources))


def _directories(node: Node) -> tuple[str, ...]:
    paths = node.paths
    return (paths.control_directory, paths.state, paths.models, paths.recipes, f"{paths.state}/instances")


def apply(plan: NodePlan, run: Run, node: Node) -> None:
    """Stop what goes or moves, write the files, then start what has to be started."""
    for name in (*(one.name for one in plan.gone), *plan.moved, *plan.stops):
        stop(node.of(name), run, forever=name not in plan.moved)
    for gone in plan.gone:
        forget(node.of(gone.name))
    owner = account(ACCOUNT)
    for one in plan.wanted:
        give(node.of(one.instance.name).home, owner, 0o700)
        give(one.recipes, owner, 0o700)
        for change in plan.changes.get(one.instance.name, []):
            write(change)
        let_group_read(node.of(one.instance.name).private_key, owner.pw_gid)
    if plan.changes or plan.gone:
        reload_units(run)
    for name in plan.enables:
        enable(run, node.of(name).unit)
    for one in plan.wanted:
        if one.instance.name in plan.starts:
            _start(one.control, run)


def _start(control: Control, run: Run) -> None:
    # A unit that has failed too often starts again only then.
    run(["systemctl", "reset-failed", control.unit])
    done = run(["systemctl", "restart", control.unit])
    if done.rc != 0:
        failure = did_not_start(control, run)
        # It would try again and again, each time with the same bytes.
        run(["systemctl", "stop", control.unit])
        raise failure


def stop(paths: ServingPaths, run: Run, *, forever: bool) -> None:
    if forever:
        disable(run, paths.unit)
    else:
        run(["systemctl", "stop", paths.unit])


def forget(paths: ServingPaths) -> None:
    for change in pending(no_files(paths)):
        write(change)
    remove([paths.home])
