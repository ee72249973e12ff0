# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a release would change on a node, and what blocks it. Pure: inventory in, plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date

from .._releases.lookup import Release, release_part, version_key
from .._releases.stack import Told, age_sentence, life_cycles_of, planned_stack
from .._verify.compatibility import INCOMPATIBLE, NodeFacts, Verdict, judge
from .._verify.fingerprint import fingerprint
from .inventory import NodeInventory

# The plan's word for all of the vendor's packages where none is there yet.
ALL_PACKAGES = "the vendor's packages"
LOADED_DRIVER = "loaded driver"


@dataclass(frozen=True)
class PlanOptions:
    """What the operator wants: ``packages`` are needed besides those that are there, ``cards`` 0 wants no number."""

    release: str
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    packages: Sequence[str] = ()
    cards: int = 0
    allow_unsupported_os: bool = False


@dataclass(frozen=True)
class Change:
    """One thing that would be another one; None is "not there"."""

    what: str
    before: str | None
    after: str

    def as_dict(self) -> dict[str, str | None]:
        """As a module returns it."""
        return {"what": self.what, "from": self.before, "to": self.after}


@dataclass(frozen=True)
class Surroundings:
    """What a plan tells of beside the node's own facts: today's date, who asks, and the venv's distributions."""

    today: date
    ansible_core: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)


def upgrade_plan(
    options: PlanOptions, node: NodeInventory, release: Release, around: Surroundings
) -> dict[str, object]:
    """The plan as a module returns it; the keys are always the same."""
    verdict = judge(_facts(node), release, options.allow_unsupported_os)
    facts = asdict(node)
    told = _life_cycles(node, release, around)
    return {
        "facts": facts,
        "wanted": wanted(node, release),
        "changes": [change.as_dict() for change in changes(options, node, release)],
        "obstacles": obstacles(options, node, release, verdict),
        "verdict": {
            "state": verdict.state,
            "reasons": list(verdict.reasons),
            "remarks": [*_remarks(node, release), *verdict.remarks, *_life_remarks(told, around.today)],
        },
        "life_cycles": [one.as_dict(around.today) for one in told],
        "fingerprint": fingerprint(facts),
    }


def wanted(node: NodeInventory, release: Release) -> dict[str, object]:
    """What the release asks of this node. Empty is: not published."""
    generation = node.generations[0] if len(node.generations) == 1 else ""
    return {
        "release": release.version,
        "package_version": release.package_version,
        "pytorch": release.pytorch,
        "generations": list(release.generations),
        "operating_systems": list(release.operating_systems),
        "kernels": list(release.operating_systems.get(node.os, ())),
        "firmware": release.firmware.get(generation, ""),
        "erom": release.erom.get(generation, ""),
        "cpld": release.cpld.get(generation, ""),
        "docker": list(release.docker),
        "kubernetes": list(release.kubernetes),
        "openshift": list(release.openshift),
        "open_mpi": list(release.open_mpi),
        "libfabric": dict(release.libfabric),
        "source": release.source,
        "unverified": list(release.unverified),
        "inferred": list(release.inferred),
        "conflicts": dict(release.conflicts),
    }


def changes(options: PlanOptions, node: NodeInventory, release: Release) -> list[Change]:
    """What would be changed. Firmware is not among it: that is flashed only when an operator asks for it."""
    version = release.package_version
    names = sorted({*node.packages, *options.packages})
    found = [Change(name, node.packages.get(name), version) for name in names] or [Change(ALL_PACKAGES, None, version)]
    found += [Change(f"headers of kernel {kernel}", None, "installed") for kernel in _without_headers(node)]
    found += [Change(f"driver built for {kernel}", node.built.get(kernel), version) for kernel in node.kernels]
    if node.driver is None or release_part(node.driver) != release.version:
        found.append(Change(LOADED_DRIVER, node.driver, release.version))
    if node.pytorch_release:
        found.append(Change("PyTorch's release", node.pytorch_release, release.version))
    return [change for change in found if change.before != change.after]


def obstacles(options: PlanOptions, node: NodeInventory, release: Release, verdict: Verdict) -> list[str]:
    """What has to be done by somebody before the change can succeed, one sentence each."""
    found = list(verdict.reasons) if verdict.state == INCOMPATIBLE else []
    if node.cards < options.cards:
        found.append(
            f"{node.cards} of {options.cards} cards are here: look for the missing one with `lspci -d 1da3:`, or set "
            "gaudi_cards_per_node for this host."
        )
    found += _firmware_obstacles(node)
    if node.fault:
        found.append(node.fault)
    if any(change.what == LOADED_DRIVER for change in changes(options, node, release)):
        found += [f"A card is held by {holder}: end it first, or let the upgrade stop it." for holder in node.holders]
    return found


def _firmware_obstacles(node: NodeInventory) -> Iterable[str]:
    reported = {address: version for address, version in node.spi.items() if version}
    unreadable = [
        f"{text!r} at {address}" for address, text in reported.items() if len(version_key(release_part(text))) != 3
    ]
    if unreadable:
        yield f"SPI firmware cannot be read: {', '.join(unreadable)}; look at these cards with `hl-smi -L`."
    elif len(set(reported.values())) > 1:
        usual, count = Counter(reported.values()).most_common(1)[0]
        others = ", ".join(f"{version} at {address}" for address, version in reported.items() if version != usual)
        yield f"The cards have different SPI firmware ({count} have {usual}; {others}): make them equal first."


def _remarks(node: NodeInventory, release: Release) -> Iterable[str]:
    if node.half_way:
        yield (
            f"An interrupted installation left {', '.join(node.half_way)} half installed; the upgrade "
            "completes it first."
        )
    reported = sorted({version for version in node.spi.values() if version})
    target = release.firmware.get(node.generations[0], "") if len(node.generations) == 1 else ""
    if reported and target and reported != [target]:
        yield (
            f"SPI firmware is {', '.join(reported)}; the vendor's recipe of release {release.version} flashes {target}."
            " An upgrade of the driver leaves it as it is."
        )


def _life_cycles(node: NodeInventory, release: Release, around: Surroundings) -> list[Told]:
    stack = planned_stack(release, node.os, node.kernels, node.generations)
    stack = replace(stack, ansible_core=around.ansible_core, libraries=around.libraries)
    return life_cycles_of(stack, around.today)


def _life_remarks(told: Sequence[Told], today: date) -> list[str]:
    return [*(one.sentence(today) for one in told if one.is_bad), *filter(None, [age_sentence(told, today)])]


def _without_headers(node: NodeInventory) -> list[str]:
    return [kernel for kernel in node.kernels if kernel not in node.headers]


def _facts(node: NodeInventory) -> NodeFacts:
    return NodeFacts(
        generations=node.generations,
        os=node.os,
        kernels=node.kernels,
        architecture=node.architecture,
        spi=tuple(dict.fromkeys(version for version in node.spi.values() if version)),
        tools=node.programs,
    )
