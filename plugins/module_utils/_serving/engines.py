# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Versions of vLLM and its plug-in for Gaudi: what each was tested with, what it lacks, and its known holes.

An operator who needs another version than the tested ones gets it with a warning; one with a known hole is refused
until the hole is accepted by its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .._errors import GaudiError
from .._releases.engine_versions import MATRIX, TESTED
from .._releases.known_holes import BY_HAND, VLLM, holes_of
from .._releases.lookup import find_release, version_key

VERSION_OPTION, HOLES_OPTION = "engine_version", "accept_holes"
# The plug-in's first; before it there was HabanaAI/vllm-fork, which has ended.
FIRST = "0.10.1"
# vllm-project/vllm#34730; without it running requests are cut off when an engine is stopped.
DRAINS_SINCE = "0.18.0"
# Read in vllm-gaudi 0.26; not looked for in versions before 0.24.
PADS_SINCE = "0.24.0"
HOLES = tuple(hole for hole in BY_HAND if hole.package == VLLM)
# A hole that only models of these kinds open.
ONLY_WITH: Mapping[str, tuple[str, ...]] = {
    "CVE-2026-27893": ("Llama_Nemotron_Nano_VL", "LlamaNemotronVLChatModel", "KimiK25ForConditionalGeneration"),
}


@dataclass(frozen=True)
class Engine:
    """A version of both, which have the same number. ``warnings`` are sentences for the operator."""

    version: str
    warnings: tuple[str, ...] = ()

    @property
    def drains(self) -> bool:
        """Whether it lets running requests end before it stops."""
        return version_key(self.version) >= version_key(DRAINS_SINCE)

    @property
    def pads(self) -> bool:
        """Whether its buckets can be limited by how much is padded."""
        return version_key(self.version) >= version_key(PADS_SINCE)

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is asked for; the plug-in itself keeps fastapi below 0.137, with which every request answers 500."""
        return (f"vllm=={self.version}", f"vllm-gaudi=={self.version}")


def choose_engine(version: str, release: str, overrides: Mapping[str, Mapping[str, object]] | None = None) -> Engine:
    """The one that is asked for, or the newest that was tested with the release; GaudiError where there is none."""
    row = find_release(release, overrides)
    fitting = [one for one, releases in TESTED.items() if row.version in releases]
    if not version:
        if not fitting:
            raise GaudiError(
                f"no version of vLLM was tested with release {row.version}; choose one in {VERSION_OPTION}, of "
                f"{', '.join(TESTED)}, or another release.",
            )
        version = max(fitting, key=version_key)
    if len(version_key(version)) < 2:
        raise GaudiError(f"{VERSION_OPTION} is {version!r:.40}; give a version such as {max(TESTED, key=version_key)}.")
    if version_key(version) < version_key(FIRST):
        raise GaudiError(
            f"{VERSION_OPTION} is {version}, and before {FIRST} there was only HabanaAI/vllm-fork, which has ended; "
            f"choose of {', '.join(fitting or TESTED)}."
        )
    return Engine(version, tuple(_warnings(version, row.version, fitting)))


def _warnings(version: str, release: str, fitting: Sequence[str]) -> list[str]:
    said = []
    if version not in fitting:
        tested = f"; tested are {', '.join(fitting)}" if fitting else ""
        said.append(f"vLLM {version} was not tested with release {release} ({MATRIX}){tested}.")
    if not Engine(version).drains:
        said.append(
            f"vLLM {version} cuts off running requests when it is stopped; {DRAINS_SINCE} and newer let them end."
        )
    return said


def refuse_holes(engine: Engine, accepted: Collection[str], architectures: Collection[str]) -> None:
    """GaudiError for a known hole that nobody has accepted and that one of the models can open."""
    for hole in holes_of(VLLM, engine.version):
        is_open = hole.name not in ONLY_WITH or set(ONLY_WITH[hole.name]) & set(architectures)
        if is_open and hole.name not in accepted:
            raise GaudiError(
                f"vLLM {engine.version} has {hole.name}: {hole.what} ({hole.source}); take {hole.fixed} or newer with "
                f"a release that was tested with it, or name {hole.name} in {HOLES_OPTION}."
            )
    unknown = sorted(set(accepted) - {hole.name for hole in HOLES})
    if unknown:
        raise GaudiError(
            f"{HOLES_OPTION} has {unknown[0]!r:.60}, which is not a known hole of vLLM; known are "
            f"{', '.join(hole.name for hole in HOLES)}."
        )
