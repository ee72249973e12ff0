# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What one release of the vendor's software is: the columns of the compatibility table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Preflight has to load on the older Pythons that it refuses, where this expression is an error.
    Table = Mapping[str, tuple[str, ...]]

MODULES = ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")


@dataclass(frozen=True)
class Release:
    """One release of the vendor's software; everything on a node carries the same ``package_version``.

    ``operating_systems`` maps ``<os-release ID>-<VERSION_ID>`` to the kernels it is validated with: ``">=5.15"`` that
    kernel or newer, ``"6.8"`` that series only; an empty tuple: the kernels are not published, and any is let through.
    ``only_generations`` names the systems that the release supports for some generations only. ``pythons`` maps systems
    to Python versions of the PyTorch bundle. ``modules`` is the load order. ``hl_smi`` is the version that the tool
    reports (without its ``hl-`` prefix).

    ``firmware`` maps a generation to the SPI image that the vendor's own recipe flashes, ``erom`` and ``cpld`` to what
    belongs to it (``">="``: or newer). ``kubernetes``, ``openshift``, ``docker`` and ``open_mpi`` list the versions
    that the matrix names; ``libfabric`` has the oldest version for all host networks (``any``) and for direct transfers
    over InfiniBand or RoCE (``verbs``). Empty means everywhere: not published.

    ``keys`` has the fingerprints of the vendor's keys: ``apt`` signs the lists for apt, ``rpm_metadata`` those for dnf,
    ``rpm_packages`` the packages for dnf. ``pytorch_sha256`` maps the server's directory of a system (``ubuntu2204``)
    to the checksum of the PyTorch archive. A system or key that is not there: not published.

    What a row does not rest on: ``unverified`` names fields with a weak source, ``inferred`` those that were taken from
    a neighboring release because no source speaks of this one, ``conflicts`` says where two sources disagree.
    """

    version: str
    build: str
    pytorch: str
    generations: tuple[str, ...] = ("gaudi2", "gaudi3")
    operating_systems: Table = field(default_factory=dict)
    only_generations: Table = field(default_factory=dict)
    pythons: Table = field(default_factory=dict)
    modules: tuple[str, ...] = MODULES
    unload_order: tuple[str, ...] = tuple(reversed(MODULES))
    hl_smi: str = ""
    firmware: Mapping[str, str] = field(default_factory=dict)
    erom: Mapping[str, str] = field(default_factory=dict)
    cpld: Mapping[str, str] = field(default_factory=dict)
    kubernetes: tuple[str, ...] = ()
    openshift: tuple[str, ...] = ()
    docker: tuple[str, ...] = ()
    open_mpi: tuple[str, ...] = ()
    libfabric: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    pytorch_sha256: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    unverified: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    conflicts: Mapping[str, str] = field(default_factory=dict)

    @property
    def package_version(self) -> str:
        """The version of every package of this release, for example ``1.24.1-482``."""
        return f"{self.version}-{self.build}"
