# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What has to be true of a node before anything is installed on it. Pure: facts in, checks out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from .._cards.hardware import generation_named
from .._cards.hpu_facts import Card, HpuFacts
from .._cards.node_system import Disk
from .._cards.verbs_checks import verbs_checks
from .._errors import GaudiError
from .._host.kernel.secure_boot import SecureBoot
from .._host.kernel.secure_boot import advice as secure_boot_advice
from .._node.check import Check
from .._node.oldest_python import OLDEST_PYTHON_NAME
from .._releases.lookup import RELEASES, Release, find_release, kernel_fits, release_part, version_key
from .life_cycles import life_cycle_check

# The vendor's binary packages exist for this architecture only.
ARCHITECTURE = "x86_64"


@dataclass(frozen=True)
class Wanted:
    """What the operator wants of the node; ``group_releases`` are the releases of every host of the play."""

    release: str
    cards: int
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    group_releases: Sequence[str] = ()
    allow_mixed_releases: bool = False
    allow_unsupported_os: bool = False
    # A later layer asks the firmware to enroll the key, so that a key that is not trusted yet only has to be told.
    prepares_enrollment: bool = False


def preflight_checks(
    facts: HpuFacts,
    disks: Sequence[Disk],
    wanted: Wanted,
    secure_boot: SecureBoot | None = None,
    today: date | None = None,
) -> list[Check]:
    """Every check, failed or not. Checks that need the release's data are left out where the release is unknown.

    Life cycles are judged as of ``today``, and left out without it.
    """
    known, release_check = _release(wanted)
    checks = [release_check, _one_release(wanted), *_cards(facts, wanted)]
    if known is not None:
        checks += [_generation(facts, known), *_operating_system(facts, known, wanted)]
        checks += [life_cycle_check(facts, known, today)] if today else []
    checks += [_architecture(facts), _systemd(facts), _python(facts), *_space(disks), _iommu(facts)]
    # What the driver layer mends is no reason to keep a node from it.
    checks += [replace(check, advice=True) for check in verbs_checks(facts)]
    return [*checks, *([_secure_boot(secure_boot, wanted)] if secure_boot else [])]


def _release(wanted: Wanted) -> tuple[Release | None, Check]:
    expected = "a release that the collection knows"
    try:
        release = find_release(wanted.release, wanted.release_overrides)
    except GaudiError as error:
        return None, Check("release", False, expected, wanted.release, "", message=str(error))
    return release, Check("release", True, expected, release.package_version, "")


def _one_release(wanted: Wanted) -> Check:
    releases = sorted({release_part(release) for release in wanted.group_releases}, key=version_key)
    return Check(
        "releases of the group",
        len(releases) <= 1 or wanted.allow_mixed_releases,
        "one release on all hosts",
        ", ".join(releases) or wanted.release,
        "set one gaudi_release for all hosts, or allow several with gaudi_preflight_allow_mixed_releases: true",
    )


def _cards(facts: HpuFacts, wanted: Wanted) -> Iterable[Check]:
    addresses = [card.pci_address for card in facts.cards]
    if facts.cards:
        found = f"{facts.count} ({', '.join(addresses)})"
        remedy = (
            f"find the missing card in the server's event log and reseat it, or set gaudi_cards_per_node to "
            f"{facts.count} for this host"
        )
    else:
        found = "none"
        remedy = "take the host out of the inventory group, or look for the cards with `lspci -d 1da3:`"
    yield Check("cards", facts.count >= wanted.cards, f"at least {wanted.cards}", found, remedy)
    unknown = [card for card in facts.cards if card.generation is None]
    if unknown:
        yield Check(
            "known cards",
            False,
            "PCI ids of Gaudi cards",
            _ids(unknown),
            "use a version of the collection that knows this card",
        )
    yield Check(
        "one generation",
        len(facts.generations) <= 1,
        "cards of one generation",
        " and ".join(_label(name) for name in facts.generations) or "none",
        "install cards of one generation in the server: one job cannot use both",
    )


def _generation(facts: HpuFacts, release: Release) -> Check:
    unsupported = [card for card in facts.cards if card.generation and card.generation not in release.generations]
    names = list(dict.fromkeys(card.generation for card in unsupported if card.generation))
    last = [_last_release_for(name) for name in names]
    return Check(
        "generation",
        not unsupported,
        f"{_listed(release.generations)}, which release {release.version} supports",
        f"{_listed(names)} ({_ids(unsupported)})" if unsupported else _listed(facts.generations),
        f"set gaudi_release to {' or '.join(last)} for this host, the last one that supports it" if last else "",
    )


def _operating_system(facts: HpuFacts, release: Release, wanted: Wanted) -> Iterable[Check]:
    supported = release.operating_systems
    allow = "or accept it with gaudi_allow_unsupported_os: true"
    yield Check(
        "operating system",
        facts.system.os in supported or wanted.allow_unsupported_os,
        f"one of {', '.join(supported)}, which release {release.version} supports",
        facts.system.os,
        f"install one of these, {allow}",
    )
    kernels = supported.get(facts.system.os)
    if kernels is not None:
        yield Check(
            "kernel",
            kernel_fits(facts.kernel.release or "", kernels) or wanted.allow_unsupported_os,
            f"{' or '.join(kernels) or 'any'} for {facts.system.os} at release {release.version}",
            facts.kernel.release or "unknown",
            f"boot such a kernel (driver.yml with gaudi_driver_kernel: supported installs one), {allow}",
        )


def _architecture(facts: HpuFacts) -> Check:
    found = facts.system.architecture
    remedy = "use an x86_64 server: the vendor builds its packages for no other"
    return Check("architecture", found == ARCHITECTURE, ARCHITECTURE, found, remedy)


def _systemd(facts: HpuFacts) -> Check:
    found = "systemd" if facts.system.systemd else "another init system"
    remedy = "boot the node with systemd: drivers, links and jobs are units of it"
    return Check("init system", facts.system.systemd, "systemd", found, remedy)


def _python(facts: HpuFacts) -> Check:
    return Check(
        "Python",
        version_key(facts.system.python) >= version_key(OLDEST_PYTHON_NAME),
        f"{OLDEST_PYTHON_NAME} or newer",
        facts.system.python,
        "install a newer python3 and set ansible_python_interpreter to it",
    )


def _space(disks: Sequence[Disk]) -> Iterable[Check]:
    """One check per file system: what is wanted of it adds up."""
    for device in dict.fromkeys(disk.device for disk in disks):
        together = [disk for disk in disks if disk.device == device]
        need = sum(disk.need_mib for disk in together)
        first = together[0]
        yield Check(
            "disk space",
            first.free_mib >= need,
            f"{need} MiB free for {', '.join(disk.path for disk in together)}",
            f"{first.free_mib} MiB free at {first.mount}",
            "free space there or mount a larger disk",
        )


def _iommu(facts: HpuFacts) -> Check:
    remedy = "the host layer sets it (role gaudi_host), and it takes effect at the next reboot"
    if not facts.driver.modules:
        remedy += "; until then the driver layer builds the driver and does not load it"
    return Check(
        "iommu=pt",
        facts.kernel.iommu_passthrough or not facts.kernel.iommu_in_the_way,
        "iommu=pt on the kernel's command line",
        "none",
        remedy,
        advice=True,
    )


def _secure_boot(state: SecureBoot, wanted: Wanted) -> Check:
    """A kernel that Secure Boot started rejects the driver unless the firmware trusts the key that signed it."""
    reason = secure_boot_advice(state)
    words = {True: "on", False: "off", None: "unknown"}
    found = f"{words[state.enabled]}, the key {'trusted' if state.enrolled else 'not trusted'}"
    return Check(
        "Secure Boot",
        reason is None,
        "off, or on with a trusted key that signs the driver",
        found if state.enabled else words[state.enabled],
        "",
        # A key that may well be trusted is no reason to refuse.
        advice=wanted.prepares_enrollment or (state.certificate is not None and state.enrolled is None),
        message=reason or "",
    )


def _last_release_for(generation: str) -> str:
    return max((row.version for row in RELEASES.values() if generation in row.generations), key=version_key)


def _listed(names: Iterable[str]) -> str:
    return " or ".join(_label(name) for name in names) or "none"


def _label(name: str) -> str:
    generation = generation_named(name)
    return generation.label if generation else name


def _ids(cards: Iterable[Card]) -> str:
    return ", ".join(f"PCI id {card.pci_id} at {card.pci_address}" for card in cards)
