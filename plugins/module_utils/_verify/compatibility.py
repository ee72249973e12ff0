# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Does a release belong on a node? Pure: what a node has and a row of the table in, a verdict with its reasons out.

What no source tells is ``unknown``; nothing is guessed. Versions compare by the part before the dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._cards.hardware import generation_named
from .._cards.hl_smi import firmware_version
from .._releases.lookup import RELEASES, Release, kernel_fits, release_part, version_key
from .preflight import ARCHITECTURE

COMPATIBLE, UNKNOWN, INCOMPATIBLE = "compatible", "unknown", "incompatible"
_FROM_BEST_TO_WORST = (COMPATIBLE, UNKNOWN, INCOMPATIBLE)

# Fields that a verdict can rest on.
_JUDGED = ("generations", "operating_systems", "only_generations")
# Programs that a row names versions for, as an operator calls them.
TOOLS = {"docker": "Docker", "kubernetes": "Kubernetes", "open_mpi": "Open MPI"}


@dataclass(frozen=True)
class FirmwareRule:
    """SPI firmware of ``spi_from`` or newer does not work with a boot FIT of ``boot_fit_until`` or older."""

    generation: str
    spi_from: str
    boot_fit_until: str
    source: str


FIRMWARE_RULES = (
    FirmwareRule("gaudi2", "1.21.2", "1.20.1", "research notes on the vendor's documentation, which name no page"),
)


@dataclass(frozen=True)
class NodeFacts:
    """What of a node decides. ``kernels`` are the running one and the one that boots next, ``spi`` the cards' own.

    ``tools`` maps ``docker``, ``kubernetes``, ``open_mpi`` and ``libfabric`` to the version that is there.
    """

    generations: Sequence[str]
    os: str
    kernels: Sequence[str]
    architecture: str = ARCHITECTURE
    spi: Sequence[str] = ()
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """``state`` with the sentences that made it so; ``remarks`` are worth knowing and change nothing."""

    state: str
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Finding:
    state: str
    sentence: str


def judge(node: NodeFacts, release: Release, allow_unsupported_os: bool = False) -> Verdict:
    """The verdict on ``release`` for ``node``.

    ``allow_unsupported_os`` is the operator's word for a system or kernel outside the matrix: nobody vouches for it, so
    the verdict is then ``unknown`` and no longer ``incompatible``.
    """
    findings = [
        *_cards(node, release),
        *_system(node, release, allow_unsupported_os),
        *_kernels(node, release, allow_unsupported_os),
        *_firmware(node, release),
    ]
    state = max((finding.state for finding in findings), key=_FROM_BEST_TO_WORST.index, default=COMPATIBLE)
    reasons = tuple(finding.sentence for finding in findings if finding.state == state)
    others = tuple(finding.sentence for finding in findings if finding.state != state)
    return Verdict(state, reasons, (*others, *_remarks(node, release)))


def firmware_obstacle(
    generation: str | None, spi_versions: Sequence[str], fit_versions: Sequence[str], release: Release
) -> str | None:
    """Why cards with this SPI firmware cannot run the boot firmware (FIT) that they would meet; None: they can.

    The driver of ``release`` brings its own boot firmware. ``fit_versions`` are boot images that stay in use besides:
    give what the cards report where only SPI firmware is flashed, and nothing where the driver is about to change.
    A string that does not parse is an obstacle wherever the rule could apply to it.
    """
    for rule in FIRMWARE_RULES:
        boot = _old_boot_firmware(rule, fit_versions, release) if rule.generation == generation else None
        if boot is None:
            continue
        for spi in spi_versions:
            if _release_of(spi) >= version_key(rule.spi_from) or not _release_of(spi):
                named = f"SPI firmware {spi}" if _release_of(spi) else f"SPI firmware {spi!r}, which cannot be read,"
                return (
                    f"{_label(generation)} cards with {named} cannot start with {boot}, since SPI {rule.spi_from} or "
                    f"newer does not work with boot firmware {rule.boot_fit_until} or older: {_remedy(rule, release)}."
                )
    return None


def _old_boot_firmware(rule: FirmwareRule, fit_versions: Sequence[str], release: Release) -> str | None:
    if version_key(release.version) <= version_key(rule.boot_fit_until):
        return f"the boot firmware of release {release.version}"
    # A string without numbers is older than everything here, and so blocks too.
    old = next((fit for fit in fit_versions if _release_of(fit) <= version_key(rule.boot_fit_until)), None)
    return f"the boot firmware {old}" if old is not None else None


def _remedy(rule: FirmwareRule, release: Release) -> str:
    if version_key(release.version) > version_key(rule.boot_fit_until):
        return f"load the driver of release {release.version} first, which brings its own boot firmware"
    newer = [row.version for row in RELEASES.values() if version_key(row.version) > version_key(rule.boot_fit_until)]
    return f"choose release {min(newer, key=version_key)} or newer"


def _release_of(firmware: str) -> tuple[int, ...]:
    """The release in a firmware string; empty where the string is no firmware version."""
    numbers = version_key(release_part(firmware_version(firmware) or ""))
    return numbers if len(numbers) == 3 else ()


def _cards(node: NodeFacts, release: Release) -> Iterable[_Finding]:
    if not node.generations:
        yield _Finding(UNKNOWN, "No Gaudi card was found here, so the cards cannot be checked.")
    if len(node.generations) > 1:
        labels = " and ".join(map(_label, node.generations))
        yield _Finding(INCOMPATIBLE, f"The cards are of {labels}: install cards of one generation in the server.")
    for name in node.generations:
        if "generations" in release.inferred:
            sentence = f"It is not documented which cards release {release.version} supports."
            yield _Finding(UNKNOWN, sentence)
        elif name not in release.generations:
            last = max((row.version for row in RELEASES.values() if name in row.generations), key=version_key)
            sentence = (
                f"Release {release.version} does not support {_label(name)}; the last release that does is {last}."
            )
            yield _Finding(INCOMPATIBLE, sentence)
    if node.architecture != ARCHITECTURE:
        sentence = f"The vendor builds its packages for {ARCHITECTURE} only, and this is {node.architecture}."
        yield _Finding(INCOMPATIBLE, sentence)


def _system(node: NodeFacts, release: Release, allowed: bool) -> Iterable[_Finding]:
    supported = release.operating_systems
    if "operating_systems" in release.inferred:
        listed = "lists" if node.os in supported else "does not list"
        yield _Finding(
            UNKNOWN,
            f"No support matrix of release {release.version} is public; that of its neighbor {listed} {node.os}.",
        )
    elif node.os not in supported:
        sentence = f"Release {release.version} is not validated on {node.os}, but on {', '.join(supported)}"
        yield _unsupported(sentence, allowed)
    for name in node.generations:
        only = release.only_generations.get(node.os)
        if only and name not in only and "only_generations" not in release.inferred:
            labels = " and ".join(map(_label, only))
            sentence = f"On {node.os} release {release.version} supports {labels} only, not {_label(name)}."
            yield _Finding(INCOMPATIBLE, sentence)


def _kernels(node: NodeFacts, release: Release, allowed: bool) -> Iterable[_Finding]:
    if "operating_systems" in release.inferred or node.os not in release.operating_systems:
        return
    accepted = release.operating_systems[node.os]
    if not accepted:
        sentence = f"The kernels of {node.os} with which release {release.version} works are not published."
        yield _Finding(UNKNOWN, sentence)
    if not node.kernels:
        yield _Finding(UNKNOWN, "The running kernel is unknown.")
    for kernel in dict.fromkeys(node.kernels):
        if not kernel_fits(kernel, accepted):
            rule = " or ".join(accepted)
            sentence = f"Release {release.version} is validated with kernel {rule} on {node.os}, not with {kernel}"
            yield _unsupported(sentence, allowed)


def _unsupported(sentence: str, allowed: bool) -> _Finding:
    if allowed:
        return _Finding(UNKNOWN, f"{sentence}; gaudi_allow_unsupported_os allows it, but it is untested.")
    return _Finding(INCOMPATIBLE, f"{sentence}.")


def _firmware(node: NodeFacts, release: Release) -> Iterable[_Finding]:
    for generation in node.generations:
        obstacle = firmware_obstacle(generation, node.spi, (), release)
        if obstacle:
            yield _Finding(INCOMPATIBLE, obstacle)
        elif not node.spi and firmware_obstacle(generation, ("unknown",), (), release):
            yield _Finding(
                UNKNOWN,
                f"Release {release.version} works only with some SPI firmware of {_label(generation)}; the "
                "version of these cards can be read once a driver is loaded.",
            )


def _remarks(node: NodeFacts, release: Release) -> Iterable[str]:
    for tool, version in sorted(node.tools.items()):
        named: Sequence[str] = getattr(release, tool, ()) if tool in TOOLS else ()
        if named and not any(kernel_fits(version, (one,)) for one in named):
            yield (
                f"{TOOLS[tool]} {version} is installed; the matrix of release {release.version} lists "
                f"{', '.join(named)}."
            )
    libfabric, oldest = node.tools.get("libfabric"), release.libfabric.get("any")
    if libfabric and oldest and not kernel_fits(libfabric, (oldest,)):
        yield f"libfabric {libfabric} is installed; release {release.version} needs {oldest} for a host network."
    for name, sentence in release.conflicts.items():
        yield f"The sources of release {release.version} disagree on {name}: {sentence}."
    weak = [name for name in _JUDGED if name in release.unverified and name not in release.inferred]
    if weak:
        yield f"Release {release.version}: based on unofficial sources ({release.source}): {', '.join(weak)}."


def _label(name: str | None) -> str:
    generation = generation_named(name or "")
    return generation.label if generation else str(name)
