# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The driver of a node in words: for ``--diff``, for check mode (the node as it will be), and as warnings. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from .._node.kernel_modules import foreign_files
from .._node.steps import Step
from .._packages.package_system import Package
from .._releases.lookup import Release
from . import dkms
from .dkms import DkmsEntry
from .plan import UNTOLD, DriverNode, DriverOptions, boot_list, vendor_packages, waits_for_passthrough


def foresee(release: Release, node: DriverNode, steps: Sequence[Step]) -> DriverNode:
    """The node as it should be after ``steps``, for check mode."""
    for step in steps:
        node = _foresee_one(release, node, step)
    return replace(node, marker=None)


def _foresee_one(release: Release, node: DriverNode, step: Step) -> DriverNode:
    if step.action in ("install", "require", "image"):
        version = release.package_version if step.action == "install" else ""
        added = {name: Package(name, version, _is_held(node.packages, name), "installed") for name in step.names}
        # A package brings its own DKMS source, and takes away the one of the version before it.
        others = [entry for entry in node.dkms if entry.version == release.package_version or not version]
        left = [damage for damage in node.damages if not set(damage.packages) & set(step.names)]
        kept = replace(node.kept, image=tuple(name for name in node.kept.image if name not in step.names))
        return replace(node, packages={**node.packages, **added}, dkms=others, damages=left, kept=kept)
    if step.action in ("hold", "unhold", "retain"):
        known = {name: node.packages.get(name, Package(name, "", False, "not-installed")) for name in step.names}
        marked = {name: replace(package, held=step.action != "unhold") for name, package in known.items()}
        return replace(node, packages={**node.packages, **marked})
    if step.action == "list":
        return replace(node, boot_list=boot_list(release))
    if step.action == "build":
        node = replace(node, signing=replace(node.signing, unsigned=()))
        built = [DkmsEntry(dkms.DRIVER, release.package_version, name, None, "installed", "") for name in step.names]
        return replace(node, dkms=[*(entry for entry in node.dkms if entry.kernel not in step.names), *built])
    if step.action == "unload":
        return replace(node, loaded=(), loaded_version=None, holders=())
    if step.action == "load":
        loaded = tuple(name for name in release.modules if name in node.loaded or name in step.names)
        return replace(node, loaded=loaded, loaded_version=node.loaded_version or release.version)
    if step.action == "choose":
        return replace(node, kept=replace(node.kept, following=step.names[0], undone=()))
    if step.action == "give_back":
        freed = {
            name: replace(node.packages[name], held=False) for name in node.kept.to_release if name in node.packages
        }
        kept = replace(node.kept, following=step.names[0], back_to="", to_release=())
        return replace(node, packages={**node.packages, **freed}, kept=kept)
    return _set_right(node, step)


def _set_right(node: DriverNode, step: Step) -> DriverNode:
    """The steps that end something unfinished; all others leave nothing to see."""
    if step.action == "mend":
        return replace(node, damages=[damage for damage in node.damages if not damage.repairable])
    if step.action == "sign":
        return replace(node, signing=replace(node.signing, files=(), enroll=""))
    if step.action == "prefer":
        return replace(node, shadowed=())
    if step.action != "repair":
        return node
    names = [name for name in step.names if name in node.packages]
    whole = {name: replace(node.packages[name], status="installed") for name in names}
    return replace(node, packages={**node.packages, **whole}, broken=(), interrupted=False)


def _is_held(packages: Mapping[str, Package], name: str) -> bool:
    return name in packages and packages[name].held


def _described(package: Package) -> str:
    return f"{package.name} {package.version}" + ("" if package.installed else f" ({package.status})")


def describe(node: DriverNode) -> str:
    """The node's driver as text, for ``--diff``."""
    packages = [_described(package) for package in vendor_packages(node).values()]
    builds = [f"{entry.version} {entry.state} for {entry.kernel}" for entry in node.dkms if entry.kernel]
    lines = [f"package: {package}" for package in sorted(packages)]
    ours = sorted({*vendor_packages(node), *node.kernel_packages, *node.kept.packages} & set(node.packages))
    lines += [f"held: {name}" for name in ours if node.packages[name].held]
    lines += [f"damaged: {damage.sentence}" for damage in node.damages if damage.repairable or damage.packages]
    lines += [f"to prepare for signing: {name}" for name in node.signing.preparations]
    lines += [f"signed with another key or none: kernel {kernel}" for kernel in node.signing.unsigned]
    lines += [f"not preferred: what DKMS built for {kernel}" for kernel in node.shadowed]
    lines += [f"dkms: {build}" for build in sorted(builds)]
    lines += [f"at boot: {line}" for line in (node.boot_list or "").splitlines() if not line.startswith("#")]
    lines += [f"loaded: {name}" for name in node.loaded]
    lines += [f"boots next: {node.kept.following}"] if node.kept.following else []
    release = "unknown" if node.loaded_version == UNTOLD else node.loaded_version or "none"
    return "".join(f"{line}\n" for line in [*lines, f"loaded release: {release}"])


def difference(before: DriverNode, after: DriverNode) -> list[dict[str, str]]:
    """Ansible's diff between two states of a node."""
    texts = {"before": describe(before), "after": describe(after)}
    if texts["before"] == texts["after"]:
        return []
    return [{"before_header": "driver", "after_header": "driver", **texts}]


def warnings(node: DriverNode) -> list[str]:
    """What an operator should know although nothing failed."""
    reported = [damage.sentence for damage in node.damages if not damage.repairable and not damage.packages]
    reported += [*node.signing.notes, *([node.signing.barrier] if node.signing.barrier else [])]
    found = reported + [
        f"modprobe would load {path}, which DKMS did not put there; remove that file or blacklist it."
        for path in foreign_files(node.files)
    ]
    return found + [
        f"The {dkms.DRIVER} {entry.version} installed for kernel {entry.kernel} is not what DKMS built: {entry.notes}."
        for entry in node.dkms
        if entry.differs
    ]


_TRANSLATED = (
    "The kernel was started without iommu=pt, and with a translating IOMMU, kernel panics and silently wrong results "
    "have been seen"
)


def passthrough_warnings(options: DriverOptions, before: DriverNode, after: DriverNode) -> list[str]:
    """Why the driver is not loaded yet, or that it was loaded all the same."""
    if waits_for_passthrough(options, after):
        remedy = (
            "have the host layer put it there (playbook host.yml) and restart the node, which loads the driver, or set "
            "load_without_passthrough: true"
        )
        return [
            f"The driver is built and not loaded, restart needed: {_TRANSLATED[0].lower()}{_TRANSLATED[1:]}; {remedy}."
        ]
    if after.iommu_in_the_way and after.loaded and not before.loaded:
        return [f"{_TRANSLATED}; the driver was loaded anyway; restart the node with it before you rely on results."]
    return []
