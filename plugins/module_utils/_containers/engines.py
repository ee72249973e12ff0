# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The container engines that are known here: their programs, and since when they read CDI specifications."""

from __future__ import annotations

import re

from .._node.commands import Run

# The name that `docker run --runtime` and a Kubernetes RuntimeClass ask for in all of the vendor's documents.
RUNTIME = "habana"

DOCKER = "docker"
PODMAN = "podman"
CONTAINERD = "containerd"
ENGINES = (DOCKER, PODMAN, CONTAINERD)

# What is there where the engine is installed; each prints its version for --version.
DAEMONS = {DOCKER: "dockerd", PODMAN: "podman", CONTAINERD: "containerd"}

Version = tuple[int, int]

# Docker: features.cdi of docs.docker.com, "Daemon CLI (dockerd)". containerd: docs/cri/config.md, enable_cdi.
# podman: the oldest that was seen reading version 0.5.0 of the specification, which ours needs.
CDI_SINCE: dict[str, Version] = {DOCKER: (25, 0), PODMAN: (4, 3), CONTAINERD: (1, 7)}

_VERSION = re.compile(r"\bv?(\d+)\.(\d+)")


def version(engine: str, run: Run) -> Version | None:
    """Major and minor version of an engine that is installed; None where it does not tell."""
    found = _VERSION.search(run([DAEMONS[engine], "--version"], timeout=30).stdout)
    return (int(found[1]), int(found[2])) if found else None


def reads_cdi(engine: str, have: Version | None) -> bool:
    """Whether the engine of that version reads CDI; one that is not installed yet, or tells nothing, is taken to."""
    return have is None or have >= CDI_SINCE[engine]


def too_old(engine: str, have: Version) -> str:
    """The sentence on an engine that does not read CDI."""
    dotted, since = (".".join(map(str, numbers)) for numbers in (have, CDI_SINCE[engine]))
    return f"{engine} {dotted} reads no CDI specifications, {since} is the first that does; its file stays without."
