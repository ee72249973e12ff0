# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which driver stack a node's InfiniBand and RoCE cards have, and whether the wanted one may be installed. Pure.

The profiles of DOCA are those of docs.nvidia.com (DOCA Profiles); MOFED's packages carry mlnx in name or version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._errors import GaudiError
from ..._packages.package_system import Package

DISTRIBUTION, DOCA, MOFED, NONE = "distribution", "doca", "mofed", "none"
STACKS = (DISTRIBUTION, DOCA, MOFED, NONE)
VENDORS = (DOCA, MOFED)

_PROFILES = ("doca-all", "doca-networking", "doca-ofed", "doca-roce", "doca-host-basic")
# DOCA brings MOFED's kernel modules under their old names.
_IN_BOTH = ("mlnx-ofed-kernel", "mlnx-ofa_kernel")
_LIBRARIES = ("rdma-core", "libibverbs1", "libibverbs", "ibverbs-providers")
# What has to be asked of the package manager to know the stack; globs, as it takes them.
ASKED = ("doca-*", "mlnx-ofed-*", *_LIBRARIES)
_BUILD = "mlnx"
_NAMES = {DOCA: "DOCA-OFED", MOFED: "MLNX_OFED"}


def stacks(packages: Mapping[str, Package]) -> dict[str, str]:
    """The stacks on the node, each with the package that shows it, such as ``doca-ofed 3.0.0``."""
    there = sorted((package for package in packages.values() if package.installed), key=lambda package: package.name)
    found: dict[str, str] = {}
    for package in there:
        stack = _stack_of(package)
        if stack:
            found.setdefault(stack, f"{package.name} {package.version}")
    # The libraries of a vendor's build belong to the vendor's stack that is there, whichever that is.
    libraries = [package for package in there if package.name in _LIBRARIES]
    built = [package for package in libraries if _BUILD in package.version]
    if built and not found:
        found[MOFED] = f"{built[0].name} {built[0].version}"
    elif libraries and not built and not found:
        found[DISTRIBUTION] = f"{libraries[0].name} {libraries[0].version}"
    return found


def _stack_of(package: Package) -> str:
    if package.name in _PROFILES:
        return DOCA
    return MOFED if package.name.startswith("mlnx-ofed-") and not package.name.startswith(_IN_BOTH) else ""


def check_stack(wanted: str, found: Mapping[str, str], repository: str, missing: Sequence[str]) -> None:
    """Refuse what would put one stack beside another or in its place, before anything is touched."""
    if wanted not in STACKS:
        raise GaudiError(f"gaudi_fabric_ofed is {wanted!r:.80}; use {', '.join(STACKS)}.")
    if repository and wanted not in VENDORS:
        raise GaudiError(
            f"gaudi_fabric_ofed_repository is given and gaudi_fabric_ofed is {wanted}, which takes nothing from there; "
            "set gaudi_fabric_ofed to doca or mofed, or leave the repository out."
        )
    if wanted == NONE:
        return
    vendors = [stack for stack in VENDORS if stack in found]
    if len(vendors) > 1:
        raise GaudiError(
            f"MLNX_OFED ({found[MOFED]}) lies beside DOCA-OFED ({found[DOCA]}) on this node, and they own the same "
            "modules; remove one with its own uninstaller (ofed_uninstall.sh), then run again."
        )
    if vendors and wanted != vendors[0]:
        raise GaudiError(
            f"This node has {_NAMES[vendors[0]]} ({found[vendors[0]]}), which gaudi_fabric_ofed: {wanted} would "
            f"replace; set gaudi_fabric_ofed to {vendors[0]} to keep it, or to none to leave it alone, or remove it "
            "with its own uninstaller (ofed_uninstall.sh) first."
        )
    if wanted in VENDORS and missing and not repository:
        raise GaudiError(
            f"gaudi_fabric_ofed is {wanted}, {', '.join(missing)} is not on this node, and "
            "gaudi_fabric_ofed_repository is empty; give the URL of the site's repository of it."
        )


def check_candidates(candidates: Mapping[str, str]) -> None:
    """Refuse the distribution's packages where a repository of the node would have others in their place.

    ``candidates`` is what the package manager would install, name to version.
    """
    foreign = [f"{name} {version}" for name, version in candidates.items() if _BUILD in version]
    if foreign:
        raise GaudiError(
            f"gaudi_fabric_ofed is {DISTRIBUTION}, and a repository of this node would install {', '.join(foreign)} in "
            f"its place; set gaudi_fabric_ofed to {DOCA} or {MOFED} if that is meant, or take the repository out."
        )


def parse_policy(text: str) -> dict[str, str]:
    """``apt-cache policy NAME...``: each name with the version that apt would install."""
    candidates: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            name = line.rstrip(":")
        elif line.startswith("  Candidate: ") and not line.endswith("(none)"):
            candidates[name] = line.partition(": ")[2]
    return candidates
