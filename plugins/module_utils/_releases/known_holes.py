# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Known holes of what is installed beside the vendor's own software, with their sources.

Those of torch, which comes with the vendor's releases, and of vLLM are by hand; `make audit-pins RENEW=1` asks for what
pip takes from an index.
"""

from __future__ import annotations

from dataclasses import dataclass

from .lookup import version_key
from .row import Release


@dataclass(frozen=True)
class Hole:
    """A hole of all versions of ``package`` before ``fixed``; empty: of all. ``read`` is when ``source`` was read."""

    package: str
    fixed: str
    name: str
    what: str
    source: str
    read: str


TORCH, VLLM = "torch", "vllm"
BY_HAND = (
    Hole(
        TORCH,
        "2.6.0",
        "CVE-2025-32434",
        "torch.load with weights_only can be bypassed, so that a checkpoint from somebody else runs code",
        "https://github.com/pytorch/pytorch/issues/152006",
        "2026-11-28",
    ),
    Hole(
        TORCH,
        "2.10.0",
        "CVE-2026-24747",
        "torch.load with weights_only corrupts memory when it reads a crafted checkpoint, which may run code",
        # It quotes the advisory.
        "https://github.com/NVIDIA/TensorRT-Model-Connect/pull/1298",
        "2026-11-28",
    ),
    # The first versions of vLLM without each are UNVERIFIED: the threads say which branches have it, and not which
    # release is the first without.
    Hole(
        VLLM,
        "0.14.0",
        "CVE-2026-22807",
        "code that comes with a model runs although trust-remote-code is not set",
        "https://github.com/vllm-project/vllm/issues/41273",
        "2026-11-29",
    ),
    Hole(
        VLLM,
        "0.18.0",
        "CVE-2026-27893",
        "code that comes with a model of Nemotron VL or Kimi K2.5 runs although trust-remote-code is not set",
        "https://github.com/vllm-project/vllm/pull/36192",
        "2026-11-29",
    ),
)


def holes_of(package: str, version: str, known: tuple[Hole, ...] = BY_HAND) -> list[Hole]:
    """Those that this version has. A version of which no number is known has all of its package."""
    return [
        hole
        for hole in known
        if hole.package == package and (not hole.fixed or version_key(version) < version_key(hole.fixed))
    ]


def warnings_of(release: Release) -> list[str]:
    """What to say where a release is chosen whose torch has any."""
    return [
        f"release {release.version} has torch {release.pytorch} with {hole.name}: {hole.what}; take a release with "
        f"torch {hole.fixed} or newer, or load no checkpoints from others."
        for hole in holes_of(TORCH, release.pytorch)
    ]
