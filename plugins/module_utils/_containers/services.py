# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which running daemons have yet to read their changed file, and whether a reload is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .._node import systemd_units
from .._node.commands import Run
from .._node.rendered_files import FileChange
from .docker import cdi_settings, keeps_containers
from .engines import CONTAINERD, DOCKER

RELOADED, RESTARTED = "reloaded", "restarted"


def to_tell(
    changes: Sequence[FileChange], configurations: Mapping[str, str], run: Run
) -> tuple[list[dict[str, str]], list[str]]:
    """The daemons with the state to ask for, and a sentence for each that needs a restart which is not ours to make.

    dockerd takes new runtimes and a new default at a reload (moby's daemon/reload.go), CDI only when it starts
    (cmd/dockerd/daemon.go). containerd reads its file only when it starts; its containers go on. podman has no daemon.
    """
    by_path = {change.wanted.path: change for change in changes}
    services, sentences = [], []
    for engine in (DOCKER, CONTAINERD):
        path = configurations.get(engine)
        change = by_path.get(str(Path(path).resolve())) if path else None
        if change is None or not systemd_units.is_active(run, engine):
            continue
        state = RESTARTED
        if engine == DOCKER and not _cdi_changes(change):
            state = RELOADED
        elif engine == DOCKER and _would_end_containers(change, run):
            state = RELOADED
            sentences.append(
                "docker reads its CDI setting only when it starts, and a restart would end its running containers; "
                "restart it when they may end, or set live-restore."
            )
        services.append({"name": engine, "state": state})
    return services, sentences


def _cdi_changes(change: FileChange) -> bool:
    path = change.wanted.path
    return cdi_settings(change.before, path) != cdi_settings(change.wanted.content, path)


def _would_end_containers(change: FileChange, run: Run) -> bool:
    if keeps_containers(change.before, change.wanted.path):
        return False
    listed = run(["docker", "ps", "--quiet"], timeout=30)
    return listed.rc != 0 or bool(listed.stdout.strip())
