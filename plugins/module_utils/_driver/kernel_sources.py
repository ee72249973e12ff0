# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What of a kernel that is kept is on the node and in its repositories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .._cards.node_system import read_system
from .._host.kernel import boot_choice
from .._host.kernel.boot_kernels import next_kernel, version_order
from .._node.commands import Run
from .._node.os_release import DNF
from .._packages.dnf_command import run_dnf
from .._packages.package_system import PackageSystem
from .._releases.lookup import Release
from .kept_kernel import (
    DISTRIBUTION,
    KeptKernel,
    Kernels,
    fits,
    image_packages,
    is_headers,
    wanted_kernel,
)

_APT = re.compile(r"^linux-image-(\d\S*) - ", re.MULTILINE)
_DNF = re.compile(r"^kernel-core\.(\S+)\s+(?:\d+:)?(\d\S*)", re.MULTILINE)
_IMAGE = re.compile(r"vmlinuz-(\d.*)")


def offered(system: PackageSystem, run: Run) -> list[str]:
    """The kernels that the node's package lists name."""
    if system.name == DNF:
        done = run_dnf(run, ["-q", "list", "--showduplicates", "kernel-core"], 0.0)
        return [f"{version}.{architecture}" for architecture, version in _DNF.findall(done.stdout)]
    return _APT.findall(run(["apt-cache", "search", "--names-only", "^linux-image-[0-9]"]).stdout)


def look(
    option: str,
    templates: Sequence[str],
    release: Release,
    running: str,
    run: Run,
    system: PackageSystem,
    root: str = "/",
) -> KeptKernel:
    """What is still to do for the kernel that ``option`` means; changes nothing."""
    if not option:
        return KeptKernel()
    following = next_kernel(run, root) or ""
    record = boot_choice.read_record(root)
    if option == DISTRIBUTION:
        return _given_back(record, following, [running, *_installed(root)])
    if not boot_choice.can_choose(run, root):
        return KeptKernel(
            refusal="kernel: this node has neither GRUB's menu nor grubby to choose one with: set its kernel where its "
            "boot is set up (PXE, host of the container), and leave kernel empty"
        )
    os = read_system(root).os
    chosen = record.kernel if record else ""
    kernels = Kernels(running, following, chosen, _installed(root), offered(system, run))
    found = wanted_kernel(option, release, os, kernels)
    if not found.wanted:
        return replace(found, following=following)
    wanted = found.wanted
    is_there = wanted in (running, *kernels.installed)
    image = image_packages(wanted, system.name, templates)
    headers = tuple(name.replace("{kernel}", wanted) for name in templates if is_headers(name))
    return replace(
        found,
        following=following,
        running_fits=running == wanted or fits(running, release, os),
        image=() if is_there else image,
        image_first=system.name == DNF,
        # On RHEL another kernel is another version of the same package: those that the node has are held.
        packages=() if system.name == DNF else (*image, *headers),
        undone=tuple(boot_choice.undone(wanted, run, root)),
    )


def _given_back(record: boot_choice.Record | None, following: str, there: Sequence[str]) -> KeptKernel:
    if record is None:
        return KeptKernel(following=following)
    # What booted before may have been removed since.
    back_to = record.before if record.before in there else max(there, key=version_order)
    return KeptKernel(following=following, back_to=back_to, to_release=tuple(record.held))


def _installed(root: str) -> list[str]:
    found = (_IMAGE.fullmatch(path.name) for path in Path(root, "boot").glob("vmlinuz-*"))
    return [match.group(1) for match in found if match]
