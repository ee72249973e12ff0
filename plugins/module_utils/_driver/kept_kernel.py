# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which kernel a node is to keep for the sake of its driver, and what of that is still to do. Pure.

The kernel's headers come first and the driver is built for it; only then its image comes and is chosen (on RHEL the
image brings the link to the headers, and the default stays what it was until the driver is built).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._host.kernel.boot_kernels import version_order
from .._node.os_release import DNF
from .._releases.lookup import Release, kernel_fits

SUPPORTED, DISTRIBUTION = "supported", "distribution"
IMAGES = {"apt": "linux-image-{kernel}", DNF: "kernel-{kernel}"}


@dataclass(frozen=True)
class KeptKernel:
    """The kernel that is ``wanted``; empty where the option leaves that to the distribution.

    ``following`` boots next; ``running_fits`` says that the release's driver can be built for the running one.
    ``image`` are the packages that bring the kernel and are not there, and come before the build where ``image_first``;
    ``packages`` are all that it consists of. ``undone`` is what its choice still lacks. ``back_to`` is the kernel that
    boots once an earlier choice is taken back, and ``to_release`` what was held for that. ``refusal`` says why no
    kernel can be named, ``unlisted`` that the node's package lists have none; ``notes`` are warnings.
    """

    wanted: str = ""
    following: str = ""
    running_fits: bool = True
    image: tuple[str, ...] = ()
    image_first: bool = False
    packages: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()
    back_to: str = ""
    to_release: tuple[str, ...] = ()
    refusal: str = ""
    unlisted: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernels:
    """The kernels of a node: ``chosen`` by an earlier run, ``installed`` ones, and those that a repository has."""

    running: str
    following: str = ""
    chosen: str = ""
    installed: Sequence[str] = ()
    offered: Sequence[str] = ()


def wanted_kernel(option: str, release: Release, os: str, kernels: Kernels) -> KeptKernel:
    """The kernel that the option means on this node, or why there is none.

    ``supported`` stays with what the node has as long as that fits: an update is asked for by its name.
    """
    there = [kernels.running, *kernels.installed]
    if option != SUPPORTED:
        known = option in there or option in kernels.offered
        if not known:
            return KeptKernel(unlisted=_nowhere(f"kernel {option}"))
        return KeptKernel(wanted=option, notes=_untested(option, release, os))
    accepted = release.operating_systems.get(os, ())
    if not accepted or "operating_systems" in release.inferred:
        return KeptKernel(
            refusal=f"kernel: supported has no meaning here, as the table names no kernel of {os} for release "
            f"{release.version}: give a kernel release, such as 6.8.0-45-generic, or set operating_systems in "
            "gaudi_release_overrides"
        )
    ours = [name for name in (kernels.chosen, kernels.following, kernels.running) if name in there]
    fitting = [name for name in ours if kernel_fits(name, accepted)]
    kind = flavor(kernels.running)
    others = [name for name in (*kernels.installed, *kernels.offered) if flavor(name) == kind]
    newest = max((name for name in others if kernel_fits(name, accepted)), key=version_order, default="")
    wanted = next(iter(fitting), newest)
    rule = " or ".join(accepted)
    return KeptKernel(wanted=wanted) if wanted else KeptKernel(unlisted=_nowhere(f"a kernel {rule} ({kind})"))


def _untested(kernel: str, release: Release, os: str) -> tuple[str, ...]:
    if fits(kernel, release, os):
        return ()
    rule = " or ".join(release.operating_systems[os])
    return (f"Release {release.version} is validated with kernel {rule} on {os}, not with {kernel}.",)


def _nowhere(what: str) -> str:
    return f"no repository of this node has {what}: add one that has it, or set kernel to one that is there"


def flavor(kernel: str) -> str:
    """``generic`` of ``6.8.0-45-generic``, ``cloud-amd64`` of ``6.1.0-49-cloud-amd64``: which of a series it is."""
    parts = kernel.split("-")
    numbers = [place for place, part in enumerate(parts) if part[:1].isdigit()]
    return "-".join(parts[numbers[-1] + 1 :]) if numbers else kernel


def fits(kernel: str, release: Release, os: str) -> bool:
    """Whether the table lets this kernel through; where it says nothing, it does."""
    return kernel_fits(kernel, release.operating_systems.get(os, ()))


def kernels_to_build(given: Sequence[str], usual: Sequence[str], running: str, kept: KeptKernel) -> list[str]:
    """The kernels to build for: the given or ``usual`` ones, and never one that will not boot again."""
    if kept.back_to:
        return _once([*(given or usual), kept.back_to])
    if not kept.wanted:
        return list(given or usual)
    own = [running] if kept.running_fits else []
    return _once([*(given or own), kept.wanted])


def image_packages(kernel: str, system: str, templates: Iterable[str]) -> tuple[str, ...]:
    """The packages that bring a kernel: its image, and what a template of the role adds (modules, not headers)."""
    more = [name for name in templates if "{kernel}" in name and not is_headers(name)]
    return tuple(_once([name.replace("{kernel}", kernel) for name in (IMAGES[system], *more)]))


def is_headers(template: str) -> bool:
    """Whether a package of this name lets modules be built for a kernel."""
    return "{kernel}" in template and ("headers" in template or "devel" in template)


def waits_for_boot(kept: KeptKernel, running: str) -> bool:
    """Whether the node is to be started with another kernel than it runs."""
    return bool(kept.wanted) and kept.wanted != running


def restart_reasons(kept: KeptKernel, running: str) -> list[str]:
    """Why the node has to be started again, a clause each."""
    if not waits_for_boot(kept, running) or kept.image or kept.undone:
        return []
    return [f"kernel {kept.wanted}, for which the driver is built, was chosen for the next boot, and {running} runs"]


def warnings(kept: KeptKernel, running: str) -> list[str]:
    """What an operator should know of the kernel that is kept."""
    said = [f"Restart needed: {reason}." for reason in restart_reasons(kept, running)]
    if kept.unlisted:
        # Only check mode comes this far with it.
        said.append(f"{kept.unlisted[0].upper()}{kept.unlisted[1:]}; a run reads the package lists anew before that.")
    return [*said, *kept.notes]


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))
