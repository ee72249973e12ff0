# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The table of life cycles: what no other table has is written here, and the rest is made of those tables.

Releases, systems, kernels, generations of cards and PyTorch come from ``table.py``, vLLM from ``engine_versions.py``,
holes from ``known_holes.py``. Of what no source tells, the row says so; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .engine_versions import MATRIX, MATRIX_READ, TESTED
from .known_holes import TORCH as TORCH_PACKAGE
from .known_holes import VLLM, Hole, holes_of
from .life_cycle import CARDS, CORE, ENGINE, KERNEL, LIBRARY, RELEASE, SYSTEM, TORCH, LifeCycle
from .lookup import version_key
from .row import Release
from .table import NEWEST, RELEASES

# When the documents were read that table.py rests on, and when what is newer was looked for.
_READ, _READ_AGAIN = "2026-11-21", "2026-11-27"
_MATRIX = "docs.habana.ai Support_Matrix"
_CORES = "https://docs.ansible.com/ansible/latest/reference_appendices/release_and_maintenance.html"
# The vendor validates its newest release and the two before it.
_VALIDATED = 3
# Of the newest release's matrix only quotations are public.
_IS_QUOTED = "operating_systems" in RELEASES[NEWEST].unverified
_OWN_END = "when it ends itself is in no source here"
_NO_WORD = "no word of the vendor about it was found"

_WRITTEN = (
    LifeCycle(
        KERNEL,
        "6.17",
        "images of Ubuntu 24.04.4 start it",
        "field notes in a public file whose repository is not recorded",
        _READ_AGAIN,
        breaks="the driver of release 1.24 does not build for it",
        remedy="boot the kernel that the release is validated with, and hold it",
        unverified=True,
    ),
    LifeCycle(
        KERNEL,
        "6.19",
        "the kernel's own driver got no support of Gaudi 3 in it; what became of that is unknown",
        "pull request of the driver for Linux 6.19",
        _READ_AGAIN,
        unverified=True,
    ),
    LifeCycle(SYSTEM, "ubuntu-26.04", _NO_WORD, "docs.habana.ai", _READ_AGAIN),
    LifeCycle(SYSTEM, "rhel-10", _NO_WORD, "docs.habana.ai", _READ_AGAIN),
    LifeCycle(
        SYSTEM,
        "debian-12",
        "in no matrix of the vendor; an installation of 1.24.1 on it had to patch the driver's source",
        "a public file whose repository is not recorded",
        _READ,
        unverified=True,
    ),
    *(
        LifeCycle(
            CARDS, name, "no notice of an end was found, which does not say that there is none", _MATRIX, _READ_AGAIN
        )
        for name in ("gaudi2", "gaudi3")
    ),
    LifeCycle(
        ENGINE,
        "0.9",
        "HabanaAI/vllm-fork, which has ended",
        "github.com/HabanaAI/vllm-fork",
        _READ,
        kept=False,
        remedy="use vLLM with the plug-in vllm-gaudi",
        unverified=True,
    ),
    *(LifeCycle(CORE, name, "no date was looked up", _CORES, _READ) for name in ("2.17", "2.18")),
    LifeCycle(CORE, "2.19", "the last for Python 3.11", _CORES, _READ, until="2026-11", remedy="take 2.20 or newer"),
    LifeCycle(CORE, "2.20", "for Python 3.12 and newer", _CORES, _READ, until="2027-05", remedy="take 2.21 or newer"),
    LifeCycle(CORE, "2.21", "for Python 3.12 and newer", _CORES, _READ, until="2027-11", remedy="take a newer one"),
    LifeCycle(
        CORE, "2.22", "announced for November 2026, and not on PyPI on that day", "PyPI ansible-core", _READ_AGAIN
    ),
    LifeCycle(
        LIBRARY,
        "optimum-habana",
        "1.21.2 is its last version, and no replacement is recommended",
        "PyPI optimum-habana 1.21.2",
        _READ_AGAIN,
        until="2026-10-31",
        remedy="move to transformers and accelerate, which know these cards by themselves",
    ),
    LifeCycle(
        LIBRARY,
        "lightning-habana",
        "no change since December 2024; 1.7.0, which the vendor's matrix names, is not on PyPI",
        "github.com/Lightning-AI/lightning-Habana; PyPI",
        _READ,
        unverified=True,
    ),
    LifeCycle(
        LIBRARY,
        "habana-pyhlml",
        "its repository was archived in February 2025, and 1.24.2.481 came out on 2026-10-02 all the same",
        "PyPI habana-pyhlml",
        _READ_AGAIN,
    ),
)


def line_of(version: str) -> str:
    """The first two numbers: ``1.24`` of ``1.24.1``."""
    return ".".join(map(str, version_key(version)[:2]))


def _of_releases() -> Iterable[LifeCycle]:
    lines = sorted({line_of(version) for version in RELEASES}, key=version_key, reverse=True)
    validated = lines[:_VALIDATED]
    rule = (
        f"the vendor validates its newest release and the two before it, now {', '.join(validated)}; it gives no dates"
    )
    for line in lines:
        remedy = "" if line in validated else f"plan the way to {NEWEST}"
        # UNVERIFIED: that "release" there is a line, and not each 1.24.x.
        yield LifeCycle(RELEASE, line, rule, _MATRIX, _READ, kept=line in validated, remedy=remedy, unverified=True)


def _of_systems() -> Iterable[LifeCycle]:
    rows = sorted(RELEASES.values(), key=lambda row: version_key(row.version))
    for system in dict.fromkeys(name for row in reversed(rows) for name in row.operating_systems):
        last = [row.version for row in rows if system in row.operating_systems and not _is_inferred(row)][-1:]
        if system in RELEASES[NEWEST].operating_systems:
            said = f"release {NEWEST} supports it; {_OWN_END}"
            yield LifeCycle(SYSTEM, system, said, _MATRIX, _READ, kept=True, unverified=_IS_QUOTED)
            continue
        said = f"the last release known to support it is {last[0]}" if last else "only old images of the vendor had it"
        yield LifeCycle(
            SYSTEM,
            system,
            f"release {NEWEST} does not support it, {said}",
            _MATRIX,
            _READ,
            kept=False,
            remedy="plan another system for the next release",
            unverified=True,
        )


def _is_inferred(row: Release) -> bool:
    return "operating_systems" in row.inferred


def _of_kernels() -> Iterable[LifeCycle]:
    found: dict[str, list[str]] = {}
    for system, rules in RELEASES[NEWEST].operating_systems.items():
        for rule in rules:
            found.setdefault(rule.lstrip(">="), []).append(system)
    for kernel, systems in sorted(found.items(), key=lambda pair: version_key(pair[0])):
        said = f"release {NEWEST} is validated with it on {', '.join(systems)}; {_OWN_END}"
        yield LifeCycle(KERNEL, kernel, said, _MATRIX, _READ, kept=True, unverified=_IS_QUOTED)


def _of_cards() -> Iterable[LifeCycle]:
    written = {row.name for row in _WRITTEN if row.kind == CARDS}
    for name in sorted({name for row in RELEASES.values() for name in row.generations} - written):
        last = max((row.version for row in RELEASES.values() if name in row.generations), key=version_key)
        yield LifeCycle(
            CARDS,
            name,
            f"the last release that supports them is {last}",
            _MATRIX,
            _READ,
            kept=False,
            remedy=f"stay at {last}",
        )


def _of_torch() -> Iterable[LifeCycle]:
    versions = sorted({row.pytorch for row in RELEASES.values()}, key=version_key, reverse=True)
    for version in versions:
        releases = ", ".join(row.version for row in RELEASES.values() if row.pytorch == version)
        said = f"comes with {releases}; the vendor's build of it has no dates of its own"
        yield _with_holes(
            TORCH, version, said, "docs.habana.ai; PyPI habana-pyhlml", _READ, holes_of(TORCH_PACKAGE, version)
        )


def _of_engines() -> Iterable[LifeCycle]:
    for version, releases in sorted(TESTED.items(), key=lambda pair: version_key(pair[0]), reverse=True):
        said = f"tested with {', '.join(releases)}; until when it gets fixes is in no source here"
        yield _with_holes(ENGINE, version, said, MATRIX, MATRIX_READ, holes_of(VLLM, version))


def _with_holes(kind: str, name: str, what: str, source: str, read: str, holes: Sequence[Hole]) -> LifeCycle:
    remedy = ""
    if holes:
        fixed = max((hole.fixed for hole in holes), key=version_key)
        remedy = f"take {fixed} or newer, with a release that has it"
    return LifeCycle(kind, name, what, source, read, holes=tuple(holes), remedy=remedy)


LIFE_CYCLES: tuple[LifeCycle, ...] = (
    *_of_releases(),
    *_of_systems(),
    *_of_kernels(),
    *_of_cards(),
    *_of_torch(),
    *_of_engines(),
    *_WRITTEN,
)
