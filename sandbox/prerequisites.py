# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the host must have. Each missing thing is one sentence with the command that fixes it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .distribution import host_distribution
from .errors import SandboxError

GIB = 1024**3


@dataclass(frozen=True)
class Tool:
    """A program the sandbox calls, and the package it comes in. ``paths`` are tried beside $PATH."""

    program: str
    package: str
    paths: tuple[str, ...] = ()

    def found(self) -> bool:
        """Whether the program is on this host."""
        return shutil.which(self.program) is not None or any(Path(path).exists() for path in self.paths)


def _podman_part(program: str) -> tuple[str, ...]:
    return (f"/usr/lib/podman/{program}", f"/usr/libexec/podman/{program}")


# What the sandbox takes of pip's packages -> what that is imported as.
PARTS = {"dumb-pypi": "dumb_pypi"}
TOOLS = (
    Tool("podman", "podman"),
    Tool("runc", "runc"),
    Tool("conmon", "conmon", _podman_part("conmon")),
    Tool("netavark", "netavark", _podman_part("netavark")),
    Tool("aardvark-dns", "aardvark-dns", _podman_part("aardvark-dns")),
    Tool("iptables", "iptables", ("/usr/sbin/iptables",)),
    Tool("mmdebstrap", "mmdebstrap"),
    Tool("dpkg-deb", "dpkg-dev"),
    Tool("apt-ftparchive", "apt-utils"),
    Tool("gcc", "gcc"),
    # No program: what a compiler reads.
    Tool("stdio.h", "libc6-dev", ("/usr/include/stdio.h",)),
    Tool("gpg", "gnupg"),
    Tool("ssh-keygen", "openssh-client"),
)


def problems(disk: dict[Path, int]) -> list[str]:
    """Everything that is missing. ``disk``: bytes that have to be free where each path lies."""
    return [*_rights(), *_tools(), *_distribution(), *_disk(disk)]


def require_podman() -> None:
    """Raise unless this process can work on containers that exist: looking, changing and removing need no more."""
    missing = [] if TOOLS[0].found() else ["podman is not installed, so there is no sandbox to look at or remove."]
    if found := [*_rights(), *missing]:
        raise SandboxError("\n".join(found))


def require(disk: dict[Path, int]) -> None:
    """Raise one :class:`SandboxError` that lists everything missing."""
    found = problems(disk)
    if found:
        raise SandboxError("\n".join(found))


def _rights() -> list[str]:
    if os.geteuid() == 0:
        return []
    return ["The sandbox runs systemd in containers and needs root: run the same command with `sudo`."]


def _tools() -> list[str]:
    missing = [tool.package for tool in TOOLS if not tool.found()]
    found = []
    if missing:
        packages = " ".join(missing)
        found.append(f"Missing on this host: {packages}; run `apt-get install --no-install-recommends {packages}`.")
    if importlib.util.find_spec("pip") is None:
        found.append("This Python has no pip, which fetches wheels; run `apt-get install python3-pip`.")
    if absent := [name for name, module in PARTS.items() if importlib.util.find_spec(module) is None]:
        found.append(
            f"{sys.executable} lacks {' and '.join(absent)}, of which the pip index is made; run `make setup`, then "
            "`.venv/bin/python -m sandbox` with the same words."
        )
    return found


def _distribution() -> list[str]:
    try:
        host_distribution()
    except SandboxError as error:
        return [str(error)]
    return []


def _disk(wanted: dict[Path, int]) -> list[str]:
    found = []
    for path, size in wanted.items():
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        if free < size:
            found.append(
                f"{existing} has {free / GIB:.1f} GiB free and the sandbox needs {size / GIB:.1f} GiB there; free some,"
                " for example with `podman system prune`, or point GAUDI_SANDBOX_CACHE at a larger disk."
            )
    return found
