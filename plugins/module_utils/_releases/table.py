# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Gaudi software releases: builds, PyTorch, systems, kernels, firmware and tools that belong together.

Sources: builds from the version lists of habana-pyhlml and habana-media-loader on PyPI; systems, kernels, Python,
Kubernetes, OpenShift, Docker, Open MPI and libfabric from docs.habana.ai Support_Matrix (1.21.0, 1.22.0, 1.23.0), of
1.24.1 from a public quotation of it; module order from Installation_Guide/Firmware_Upgrade; card firmware from Intel's
bare-metal recipes (intel/optimized-cloud-recipes). What rests on less is named in the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from .row import Release

if TYPE_CHECKING:
    from .row import Table

NEWEST = "1.24.1"

# Before 1.21 there was no habanalabs_compat, and the vendor's scripts unload in this order, not in the reverse one.
_MODULES_BEFORE_1_21 = ("habanalabs", "habanalabs_cn", "habanalabs_ib", "habanalabs_en")

_GAUDI_1_TO_3 = ("gaudi", "gaudi2", "gaudi3")

_MATRIX = "docs.habana.ai Support_Matrix; PyPI habana-pyhlml"
_RECIPE = "intel/optimized-cloud-recipes"
_QUOTED = "docs.habana.ai Support_Matrix as quoted in public files; PyPI habana-pyhlml"

_LIBFABRIC = {"any": ">=1.16.1", "verbs": ">=1.20.0"}

_SYSTEMS_1_20: Table = {
    "ubuntu-22.04": (">=5.15",),
    "ubuntu-24.04": ("6.8",),
    "rhel-8.6": (),
    "rhel-9.2": (),
    "rhel-9.4": (),
    "sles-15.5": (),
    "tencentos-3.1": (),
}
_SYSTEMS_1_21: Table = {
    "ubuntu-22.04": (">=5.15",),
    "ubuntu-24.04": ("6.8",),
    "rhel-9.4": (">=5.14",),
    "sles-15.5": ("5.14.21",),
    "tencentos-3.1": (">=5.4",),
}
_SYSTEMS_1_22: Table = {**_SYSTEMS_1_21, "rhel-9.6": ("5.14",), "opencloudos-9.2": ("6.6",), "navix-9.4": ()}
_SYSTEMS_1_23: Table = {name: kernels for name, kernels in _SYSTEMS_1_22.items() if name != "sles-15.5"}
_SYSTEMS_1_24_1: Table = {
    "ubuntu-22.04": (">=5.15",),
    "ubuntu-24.04": ("6.8",),
    "rhel-9.6": ("5.14",),
    "rhel-9.8": (),
    "tencentos-3.1": (">=5.4",),
    "navix-9.4": (),
    "navix-9.6": (),
}
# 1.24.1 is said to have added RHEL 9.8 and dropped 9.4.
_SYSTEMS_1_24_0: Table = {
    "rhel-9.4": (">=5.14",),
    **{name: kernels for name, kernels in _SYSTEMS_1_24_1.items() if name != "rhel-9.8"},
}

_PYTHONS_1_21: Table = {
    "ubuntu-22.04": ("3.10",),
    "ubuntu-24.04": ("3.12",),
    "rhel-9.4": ("3.11", "3.12"),
    "tencentos-3.1": ("3.10",),
}
_PYTHONS_1_22: Table = {**_PYTHONS_1_21, "rhel-9.6": ("3.12",), "navix-9.4": ("3.12",)}
_PYTHONS_1_24: Table = {
    "ubuntu-22.04": ("3.10",),
    "ubuntu-24.04": ("3.12",),
    "rhel-9.6": ("3.12",),
    "tencentos-3.1": ("3.10",),
    "navix-9.4": ("3.12",),
    "navix-9.6": ("3.12",),
}

# Fields of the matrix that a row without a matrix of its own takes from its neighbor.
_MATRIX_FIELDS = ("operating_systems", "pythons", "kubernetes", "openshift", "docker", "open_mpi", "libfabric")


def _line_1_24(version: str, build: str, pytorch: str) -> Release:
    return Release(
        version,
        build,
        pytorch,
        operating_systems=_SYSTEMS_1_24_1,
        only_generations={"tencentos-3.1": ("gaudi2",)},
        pythons=_PYTHONS_1_24,
        hl_smi="1.24.0-fw-62.6.2.0",
        firmware={"gaudi2": "1.24.0-fw-62.6.2-sec-11"},
        erom={"gaudi2": ">=1.12.1-fw-46.0.5"},
        cpld={"gaudi2": "0x10"},
        kubernetes=("1.33", "1.34", "1.35"),
        openshift=("4.17", "4.18", "4.19", "4.20", "4.22"),
        docker=("29.1.5",),
        open_mpi=("5.0.8",),
        libfabric=_LIBFABRIC,
        source=_QUOTED,
        unverified=(*_MATRIX_FIELDS, "only_generations", "firmware", "erom", "cpld"),
    )


def _line_1_22(version: str, build: str, pytorch: str) -> Release:
    return Release(
        version,
        build,
        pytorch,
        operating_systems=_SYSTEMS_1_22,
        pythons=_PYTHONS_1_22,
        firmware={"gaudi2": "1.22.0-fw-61.3.1-sec-11", "gaudi3": "1.22.0-fw-61.3.2-sec-3"},
        erom={"gaudi3": "1.22.0-fw-61.3.2"},
        kubernetes=("1.30", "1.31", "1.32"),
        openshift=("4.17", "4.18", "4.19"),
        docker=("25.0.1",),
        open_mpi=("4.1.6",),
        libfabric=_LIBFABRIC,
        source=f"{_MATRIX}; {_RECIPE}",
    )


def _line_1_21(version: str, build: str, erom: str = "", **firmware: str) -> Release:
    return Release(
        version,
        build,
        "2.6.0",
        _GAUDI_1_TO_3,
        operating_systems=_SYSTEMS_1_21,
        pythons=_PYTHONS_1_21,
        firmware=firmware,
        erom={"gaudi3": erom} if erom else {},
        kubernetes=("1.30", "1.31", "1.32"),
        openshift=("4.16", "4.17", "4.18"),
        docker=("25.0.1",),
        open_mpi=("4.1.6",),
        libfabric=_LIBFABRIC,
        source=f"{_MATRIX}; {_RECIPE}",
    )


def _before_1_21(version: str, build: str, pytorch: str, erom: str = "", **firmware: str) -> Release:
    # Systems are those of the vendor's images of 1.20; no matrix of these releases was found.
    return Release(
        version,
        build,
        pytorch,
        _GAUDI_1_TO_3,
        operating_systems=_SYSTEMS_1_20,
        pythons={"ubuntu-22.04": ("3.10",), "ubuntu-24.04": ("3.12",)},
        modules=_MODULES_BEFORE_1_21,
        unload_order=_MODULES_BEFORE_1_21,
        firmware=firmware,
        erom={"gaudi3": erom} if erom else {},
        source=f"HabanaAI/Setup_and_Install history; PyPI habana-pyhlml; {_RECIPE}",
        unverified=("operating_systems", "pythons", "unload_order"),
        inferred=("operating_systems", "pythons"),
    )


def _line_1_20(version: str, build: str, erom: str = "", **firmware: str) -> Release:
    row = _before_1_21(version, build, "2.6.0", erom, **firmware)
    return replace(row, open_mpi=("4.1.6",), libfabric=_LIBFABRIC)


# UNVERIFIED: no public source names a fingerprint of the vendor's keys, or a checksum of a PyTorch archive. A site that
# knows them from the vendor pins them (gaudi_release_overrides).
_KEYS: Mapping[str, str] = {}
_PYTORCH_SHA256: Mapping[str, str] = {}
_NOT_PUBLISHED = ("keys", "pytorch_sha256")

RELEASES: Mapping[str, Release] = {
    row.version: replace(row, keys=_KEYS, pytorch_sha256=_PYTORCH_SHA256, unverified=(*row.unverified, *_NOT_PUBLISHED))
    for row in (
        # Only habana-pyhlml is known of 1.24.2.
        replace(
            _line_1_24("1.24.2", "481", "2.11.0"),
            hl_smi="",
            firmware={},
            erom={},
            cpld={},
            source="PyPI habana-pyhlml",
            unverified=("pytorch", "generations", *_MATRIX_FIELDS, "only_generations"),
            inferred=("pytorch", "generations", *_MATRIX_FIELDS, "only_generations"),
        ),
        _line_1_24("1.24.1", "482", "2.11.0"),
        replace(
            _line_1_24("1.24.0", "1007", "2.10.0"),
            operating_systems=_SYSTEMS_1_24_0,
            openshift=("4.17", "4.18", "4.19", "4.20"),
            inferred=(*_MATRIX_FIELDS, "only_generations"),
        ),
        replace(
            _line_1_22("1.23.0", "695", "2.9.0"),
            operating_systems=_SYSTEMS_1_23,
            hl_smi="1.23.0-fw-62.2.1.1",
            kubernetes=("1.32", "1.33", "1.34"),
            openshift=("4.17", "4.18", "4.19", "4.20"),
            open_mpi=("5.0.8", "4.1.6"),
            conflicts={"open_mpi": "the release notes say 5.0.8, the support matrix of the same release says 4.1.6"},
        ),
        replace(
            _line_1_22("1.22.2", "32", "2.7.1"),
            conflicts={"firmware": "for Gaudi 2 Intel's recipe flashes fw-61.3.1, a table of 1.22.2 says fw-61.3.2"},
        ),
        replace(_line_1_22("1.22.1", "6", "2.7.1"), hl_smi="1.22.1-fw-61.4.2.1"),
        _line_1_22("1.22.0", "740", "2.7.1"),
        _line_1_21("1.21.5", "6"),
        _line_1_21("1.21.4", "3", erom="1.21.3-fw-61.0.1", gaudi3="1.21.3-fw-61.0.2-sec-3"),
        _line_1_21("1.21.3", "57", erom="1.21.3-fw-61.0.1", gaudi3="1.21.3-fw-61.0.2-sec-3"),
        _line_1_21(
            "1.21.2",
            "76",
            erom="1.21.2-fw-61.0.0",
            gaudi2="1.21.2-fw-61.0.0-sec-11",
            gaudi3="1.21.2-fw-60.1.0-sec-2",
        ),
        replace(
            _line_1_21("1.21.1", "16", erom="1.21.1-fw-59.2.3", gaudi3="1.21.1-fw-59.2.3-sec-2"),
            hl_smi="1.21.1-fw-59.2.3.0",
        ),
        _line_1_21("1.21.0", "555", erom="1.21.0-fw-59.2.1", gaudi3="1.21.0-fw-59.2.1-sec-2"),
        _line_1_20(
            "1.20.1",
            "97",
            erom="1.20.1-fw-58.2.7",
            gaudi2="1.20.1-fw-58.2.6-sec-9",
            gaudi3="1.20.1-fw-58.2.7-sec-9",
        ),
        replace(_line_1_20("1.20.0", "543", gaudi3="1.20.0-fw-58.1.1-sec-2"), hl_smi="1.20.0-fw-58.1.1.1"),
        _before_1_21("1.19.2", "32", "2.5.1"),
        _before_1_21("1.19.1", "26", "2.5.1", gaudi3="1.19.1-fw-57.2.2-sec-2"),
        _before_1_21("1.19.0", "561", "2.5.1"),
        replace(
            _before_1_21("1.18.0", "524", "2.4.0", gaudi2="1.18.0-fw-53.1.1-sec-9"),
            inferred=("generations", "operating_systems", "pythons"),
        ),
    )
}
