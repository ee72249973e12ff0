# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From the driver that is on a node to the one that is wanted, as values: reasons, steps, and what they lead to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from . import dkms
from .debian_packages import DebianPackage
from .dkms import DkmsEntry
from .kernel_modules import Holder, foreign_files
from .releases import Release, release_part


@dataclass(frozen=True)
class DriverOptions:
    """What the operator asks for. Empty ``kernels`` is the running kernel; ``packages`` are checked and held."""

    release: str
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    hold: bool = True
    load_modules: bool = True
    reload: bool = False
    kernel_root: str = "/"
    build_timeout: float = 1800.0


@dataclass(frozen=True)
class DriverNode:
    """What is on the node. ``running`` is the running kernel, ``loaded_version`` what the loaded driver calls itself.

    ``loaded`` and ``files`` (module to file of the running kernel) speak of the wanted release's modules only;
    ``headers`` are those of the wanted kernels that modules can be built for.
    """

    running: str
    packages: Mapping[str, DebianPackage] = field(default_factory=dict)
    dkms: Sequence[DkmsEntry] = ()
    headers: Sequence[str] = ()
    loaded: Sequence[str] = ()
    loaded_version: str | None = None
    holders: Sequence[Holder] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One thing to do, in the order of ``names``: hold, unhold (packages), build (kernels), unload, load (modules)."""

    action: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.action} {' '.join(self.names)}"


def wanted_kernels(options: DriverOptions, running: str) -> list[str]:
    """The kernels to build for."""
    return list(options.kernels) or [running]


def is_other(loaded_version: str | None, release: Release) -> bool:
    """Whether the loaded driver is of another release."""
    return loaded_version is not None and release_part(loaded_version) != release.version


def refusals(options: DriverOptions, release: Release, node: DriverNode) -> list[str]:
    """Why nothing can be done on this node yet, a clause each."""
    reasons = [
        f"the package {name} is {_package_state(node.packages.get(name))}, not installed at {release.package_version}"
        for name in options.packages
        if not _is_installed(node.packages.get(name), release)
    ]
    return reasons + [
        f"the headers of kernel {kernel} are missing (/lib/modules/{kernel}/build): install its headers package"
        for kernel in _unbuilt(options, release, node)
        if kernel not in node.headers
    ]


def _is_installed(package: DebianPackage | None, release: Release) -> bool:
    return package is not None and package.installed and package.version == release.package_version


def _package_state(package: DebianPackage | None) -> str:
    return f"{package.status} at {package.version}" if package and package.version else "absent"


def _unbuilt(options: DriverOptions, release: Release, node: DriverNode) -> list[str]:
    kernels = wanted_kernels(options, node.running)
    return [kernel for kernel in kernels if not dkms.installed_for(node.dkms, release.package_version, kernel)]


def reload_required(options: DriverOptions, release: Release, node: DriverNode) -> bool:
    """Whether another release's driver is loaded than the wanted one."""
    return options.load_modules and is_other(node.loaded_version, release)


def plan(options: DriverOptions, release: Release, node: DriverNode) -> list[Step]:
    """The steps from ``node`` to what is wanted, in their order."""
    held = {name for name, package in node.packages.items() if package.held}
    steps = [
        Step("hold", tuple(name for name in options.packages if options.hold and name not in held)),
        Step("unhold", tuple(name for name in options.packages if not options.hold and name in held)),
        Step("build", tuple(_unbuilt(options, release, node))),
        *_module_steps(options, release, node),
    ]
    return [step for step in steps if step.names]


def _module_steps(options: DriverOptions, release: Release, node: DriverNode) -> list[Step]:
    if not options.load_modules:
        return []
    if not reload_required(options, release, node):
        return [Step("load", tuple(name for name in release.modules if name not in node.loaded))]
    if not options.reload or node.holders:
        return []
    return [
        Step("unload", tuple(name for name in release.unload_order if name in node.loaded)),
        Step("load", release.modules),
    ]


def foresee(release: Release, node: DriverNode, steps: Sequence[Step]) -> DriverNode:
    """The node as it should be after ``steps``, for check mode."""
    for step in steps:
        node = _foresee_one(release, node, step)
    return node


def _foresee_one(release: Release, node: DriverNode, step: Step) -> DriverNode:
    if step.action in ("hold", "unhold"):
        absent = {name: DebianPackage(name, "", False, "not-installed") for name in step.names}
        packages = {**absent, **node.packages}
        marked = {name: replace(packages[name], held=step.action == "hold") for name in step.names}
        return replace(node, packages={**packages, **marked})
    if step.action == "build":
        others = [entry for entry in node.dkms if entry.kernel not in step.names]
        built = [DkmsEntry(dkms.DRIVER, release.package_version, name, None, "installed", "") for name in step.names]
        return replace(node, dkms=[*others, *built])
    if step.action == "unload":
        return replace(node, loaded=(), loaded_version=None)
    loaded = tuple(name for name in release.modules if name in node.loaded or name in step.names)
    return replace(node, loaded=loaded, loaded_version=node.loaded_version or release.version)


def describe(node: DriverNode) -> str:
    """The node's driver as text, for ``--diff``."""
    builds = sorted(f"{entry.version} {entry.state} for {entry.kernel}" for entry in node.dkms if entry.kernel)
    held = sorted(name for name, package in node.packages.items() if package.held)
    lines = [f"dkms: {build}" for build in builds]
    lines += [f"held: {name}" for name in held]
    lines += [f"loaded: {name}" for name in node.loaded]
    return "".join(f"{line}\n" for line in [*lines, f"loaded release: {node.loaded_version or 'none'}"])


def warnings(options: DriverOptions, release: Release, node: DriverNode) -> list[str]:
    """What an operator should know although nothing failed."""
    found = [
        f"modprobe would load {path}, which DKMS did not put there; remove that file or blacklist it."
        for path in foreign_files(node.files)
    ]
    found += [
        f"The {dkms.DRIVER} {entry.version} installed for kernel {entry.kernel} is not what DKMS built: {entry.notes}."
        for entry in node.dkms
        if entry.differs
    ]
    if reload_required(options, release, node):
        busy = "; ".join(map(str, node.holders))
        remedy = f"end {busy}, then run again with reload: true" if busy else "run again with reload: true"
        found.append(
            f"The driver of release {node.loaded_version} is still loaded and {release.version} is installed: "
            f"{remedy}, or reboot."
        )
    return found
