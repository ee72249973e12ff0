# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel modules as they lie on disk, for the simulated kernel: what depmod found, what modinfo says."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..node_state import read

MODULES = Path("/lib/modules")
REAL_MODINFO = "/usr/sbin/modinfo"


def canonical(name: str) -> str:
    """A module's name with underscores, as the kernel has it."""
    return name.replace("-", "_")


def module_name(path: str) -> str:
    """The module in ``updates/dkms/habanalabs.ko.xz``."""
    return canonical(Path(path).name.split(".ko")[0])


def dependencies(modules_dep: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Module -> (its file, the modules it needs, nearest first) from the text of modules.dep."""
    found = {}
    for line in modules_dep.splitlines():
        path, _, needed = line.partition(":")
        found[module_name(path)] = (path, tuple(module_name(item) for item in needed.split()))
    return found


def installed(kernel_release: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What depmod recorded for this kernel; empty where it never ran."""
    path = MODULES / kernel_release / "modules.dep"
    return dependencies(path.read_text(encoding="utf-8")) if path.exists() else {}


def package_version(kernel_release: str, path: str) -> str:
    """The release that the module file was built from, from its own ``package`` field."""
    done = subprocess.run(
        [REAL_MODINFO, "-F", "package", str(MODULES / kernel_release / path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def kernel_release() -> str:
    """The release of the simulated kernel."""
    return read().kernel_release
