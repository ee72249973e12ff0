# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Podman as a few functions: what exists, and what carries the sandbox's labels."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .commands import run
from .errors import SandboxError
from .paths import CHECKOUT

LABEL_NAME = "gaudi3.scale.sandbox"
LABEL_CHECKOUT = "gaudi3.scale.checkout"
LABEL_IMAGE = "gaudi3.scale.sandbox.image"
# Open files, and processes, of a container: plenty for a node, and below what podman may hand on where it cannot raise.
LIMIT = 16384

# How often, and after how many seconds, a command is given again that another one of podman's can make fail.
AGAIN, AGAIN_AFTER_S = 3, 2.0


@dataclass(frozen=True)
class Container:
    """A container as podman lists it."""

    name: str
    state: str
    image: str
    labels: dict[str, str]


def podman(*arguments: str, text_in: str | None = None) -> str:
    """Run podman. The runtime is runc unless ``GAUDI_SANDBOX_RUNTIME`` names another.

    crun 1.8 refuses to start systemd where cgroups are in hybrid mode; runc works in hybrid and unified mode.
    """
    runtime = os.environ.get("GAUDI_SANDBOX_RUNTIME", "runc")
    return run(["podman", "--runtime", runtime, *arguments], text_in=text_in)


def stubborn(*arguments: str, sleep: Callable[[float], None] = time.sleep) -> str:
    """Run podman, and some more times where it fails.

    A list fails as a whole where what is on it goes meanwhile ("no such container", "layer not known"), and a removal
    where a busy machine is slow to end a container's processes ("given PIDs did not die within timeout"; podman 4.3).
    """
    for _failed in range(AGAIN):
        try:
            return podman(*arguments)
        except SandboxError:
            sleep(AGAIN_AFTER_S)
    return podman(*arguments)


def limits() -> list[str]:
    """Options that keep a container's limits low enough for hosts where root may not raise any.

    Podman's own defaults are above what such a host allows, and starting the container fails with
    "error setting rlimit type 7: operation not permitted".
    """
    named = (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
    return [f"--ulimit={name}={limit}:{limit}" for name, limit in ((n, _within(r)) for n, r in named)]


def _within(limit: int) -> int:
    hard = resource.getrlimit(limit)[1]
    return LIMIT if hard == resource.RLIM_INFINITY else min(hard, LIMIT)


def labels(name: str) -> list[str]:
    """Options that mark an object as part of the sandbox ``name`` of this checkout."""
    return ["--label", f"{LABEL_NAME}={name}", "--label", f"{LABEL_CHECKOUT}={CHECKOUT}"]


def containers(name: str) -> list[Container]:
    """All containers of the sandbox ``name``, running or not, whoever made them."""
    listed = json.loads(stubborn("ps", "--all", "--filter", f"label={LABEL_NAME}={name}", "--format", "json") or "[]")
    return [Container(item["Names"][0], item["State"], item["Image"], item["Labels"] or {}) for item in listed]


def sandboxes_here() -> list[str]:
    """The names of all sandboxes that this checkout has containers of."""
    name = f'{{{{index .Labels "{LABEL_NAME}"}}}}'
    found = stubborn("ps", "--all", "--filter", f"label={LABEL_CHECKOUT}={CHECKOUT}", "--format", name)
    return sorted(set(found.split()))


def image_exists(image: str) -> bool:
    """Whether podman has the image ``image`` (name:tag)."""
    return bool(stubborn("images", "--quiet", "--filter", f"reference={image}").strip())


def images_in_use() -> set[str]:
    """The ids of the images that any container was made from."""
    return set(stubborn("ps", "--all", "--no-trunc", "--format", "{{.ImageID}}").split())


def networks() -> list[dict[str, object]]:
    """Podman's networks as it describes them, in one question: another sandbox's may go at any moment."""
    return list(json.loads(stubborn("network", "ls", "--format", "json") or "[]"))


def remove_containers(names: Sequence[str]) -> None:
    """Remove containers with what is inside, running or not."""
    if names:
        stubborn("rm", "--force", "--ignore", "--time", "0", "--volumes", *names)
