# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The package repository's content, each part built once and again only when what it is made from changes."""

from __future__ import annotations

from ..distribution import Distribution
from ..paths import locked, make_directory
from .apt_repository import ensure_apt_repository, ensure_upstream_repository
from .layout import HOME, WWW
from .pytorch_bundle import ensure_bundles
from .rpm_repository import ensure_rpm_repository
from .wheels import ensure_index, ensure_wheelhouse


def ensure_repository(distribution: Distribution) -> None:
    """Bring the package repository's content up to date with the checkout."""
    make_directory(WWW)
    with locked(HOME):
        ensure_apt_repository(distribution.codename)
        torch_wheel = ensure_wheelhouse(distribution.python)
        ensure_bundles(torch_wheel, distribution.bundle_directory)
        ensure_index(distribution.python)


def ensure_rhel_repository() -> None:
    """The dnf repository beside it, for those who ask: no node of the sandbox runs RHEL."""
    make_directory(WWW)
    with locked(HOME):
        ensure_rpm_repository()


def ensure_upstream_driver(distribution: Distribution) -> None:
    """The apt repository with the kernel's own driver beside it, for those who ask: apt fetches 300 MB of sources."""
    make_directory(WWW)
    with locked(HOME):
        ensure_upstream_repository(distribution.codename)
