# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The container that serves the package repository to one sandbox."""

from __future__ import annotations

from pathlib import Path

from ..plan import ClusterPlan
from ..podman import Container, labels, limits, podman, remove_containers
from .layout import WWW

SERVER = Path(__file__).with_name("server.py")
PORT = 80
LABEL_SERVED = "gaudi3.scale.sandbox.served"


def ensure_repository_container(plan: ClusterPlan, image: str, existing: list[Container]) -> None:
    """Make the package repository's container, or start it."""
    found = {container.name: container for container in existing}.get(plan.repository_container)
    served = str(WWW.stat().st_ino)
    if found is not None and found.labels.get(LABEL_SERVED) != served:
        # Its directory was deleted and made again: the container still serves the deleted one.
        remove_containers([found.name])
        found = None
    if found is None:
        podman(
            "run", "--detach",
            "--name", plan.repository_container,
            "--hostname", "repository",
            "--network", plan.network,
            "--ip", plan.repository_address,
            "--restart", "always",
            *limits(),
            "--volume", f"{WWW}:/srv/repository:ro",
            "--volume", f"{SERVER}:/srv/server.py:ro",
            "--label", f"{LABEL_SERVED}={served}",
            *labels(plan.name),
            image, "/usr/bin/python3", "/srv/server.py", "/srv/repository", str(PORT),
        )  # fmt: skip
    elif found.state != "running":
        podman("start", plan.repository_container)
