# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The distribution that nodes are made of: the host's own, so that its apt sources and keys work.

Debian 12 is what this is tested on. Ubuntu 22.04 and 24.04 follow the same path and are untested.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from .errors import SandboxError

# Codename -> (Python of the system, name of the vendor's bundle directory, Ansible's name of the release).
KNOWN = {
    "bookworm": ("3.11", "debian12"),
    "jammy": ("3.10", "ubuntu2204"),
    "noble": ("3.12", "ubuntu2404"),
}


@dataclass(frozen=True)
class Distribution:
    """What is bootstrapped. ``sources`` is apt's sources as one text, deb822 or one-line style."""

    codename: str
    sources: str
    python: str
    bundle_directory: str

    @property
    def sources_suffix(self) -> str:
        """The file name's end that tells apt the style of ``sources``."""
        return ".sources" if "URIs:" in self.sources else ".list"


def host_distribution(etc: Path = Path("/etc")) -> Distribution:
    """The host's distribution with its apt sources, or those of the mirror named by ``GAUDI_SANDBOX_MIRROR``."""
    release = platform.freedesktop_os_release()
    codename = release.get("VERSION_CODENAME", "")
    if codename not in KNOWN:
        raise SandboxError(
            f"The sandbox bootstraps its nodes from the host's distribution and knows {', '.join(sorted(KNOWN))}, not"
            f" {codename or release.get('ID', 'this one')!r}; use a host with one of these, or a container of it."
        )
    mirror = os.environ.get("GAUDI_SANDBOX_MIRROR")
    sources = mirror_sources(release["ID"], codename, mirror) if mirror else own_sources(etc, codename)
    python, bundle_directory = KNOWN[codename]
    return Distribution(codename, sources, python, bundle_directory)


def own_sources(etc: Path, codename: str) -> str:
    """The distribution's own entries of the host; entries of third parties stay out of the nodes."""
    candidates = ("apt/sources.list.d/debian.sources", "apt/sources.list.d/ubuntu.sources", "apt/sources.list")
    for candidate in candidates:
        path = etc / candidate
        if path.is_file() and codename in (text := path.read_text(encoding="utf-8")):
            return text
    raise SandboxError(
        f"No apt source for {codename} in {', '.join(candidates)} of {etc};"
        " name a mirror: GAUDI_SANDBOX_MIRROR=http://MIRROR/debian"
    )


def mirror_sources(identifier: str, codename: str, mirror: str) -> str:
    """Sources that take everything from one mirror."""
    components = "main universe" if identifier == "ubuntu" else "main"
    return f"deb {mirror} {codename} {components}\ndeb {mirror} {codename}-updates {components}\n"
