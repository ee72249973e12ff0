# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Gaudi software releases: builds, PyTorch, systems and kernel modules that belong together.

Sources: builds from the version lists of habana-pyhlml and habana-media-loader on PyPI; systems, kernels and Python
from docs.habana.ai Support_Matrix (1.21.0, 1.22.0, 1.23.0); module order from Installation_Guide/Firmware_Upgrade; card
firmware from Intel's bare-metal recipes (intel/optimized-cloud-recipes). ``Release.unverified`` names the fields of a
row that rest on less than that.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from .errors import GaudiError

if TYPE_CHECKING:  # Preflight has to load on the older Pythons that it refuses, where this expression is an error.
    Table = Mapping[str, tuple[str, ...]]

NEWEST = "1.24.1"

_MODULES = ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")
_UNLOAD = tuple(reversed(_MODULES))
# Before 1.21 there was no habanalabs_compat, and the vendor's scripts unload in this order, not in the reverse one.
_MODULES_BEFORE_1_21 = ("habanalabs", "habanalabs_cn", "habanalabs_ib", "habanalabs_en")
_UNLOAD_BEFORE_1_21 = _MODULES_BEFORE_1_21

_GAUDI_1_TO_3 = ("gaudi", "gaudi2", "gaudi3")
_GAUDI_2_AND_3 = ("gaudi2", "gaudi3")

_SYSTEMS_1_21: Table = {
    "ubuntu-22.04": (">=5.15",),
    "ubuntu-24.04": ("6.8",),
    "rhel-9.4": (">=5.14",),
    "sles-15.5": ("5.14.21",),
    "tencentos-3.1": (">=5.4",),
}
_SYSTEMS_1_22: Table = {**_SYSTEMS_1_21, "rhel-9.6": ("5.14",), "opencloudos-9.2": ("6.6",), "navix-9.4": ()}
_SYSTEMS_1_23: Table = {name: kernels for name, kernels in _SYSTEMS_1_22.items() if name != "sles-15.5"}
_SYSTEMS_1_24: Table = {
    "ubuntu-22.04": (">=5.15",),
    "ubuntu-24.04": ("6.8",),
    "rhel-9.6": ("5.14",),
    "rhel-9.8": (),
    "tencentos-3.1": (">=5.4",),
    "navix-9.4": (),
    "navix-9.6": (),
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


@dataclass(frozen=True)
class Release:
    """One release of the vendor's software; everything on a node carries the same ``package_version``.

    ``operating_systems`` maps ``<os-release ID>-<VERSION_ID>`` to the kernels it is validated with: ``">=5.15"`` that
    kernel or newer, ``"6.8"`` that series only, an empty tuple any. ``pythons`` maps the same names to Python versions
    of the PyTorch bundle. ``modules`` is the load order. ``hl_smi`` is the version that the tool reports (without its
    ``hl-`` prefix), ``firmware`` maps a generation to the SPI image that the vendor's own recipe flashes. Empty means:
    not published.
    """

    version: str
    build: str
    pytorch: str
    generations: tuple[str, ...] = _GAUDI_2_AND_3
    operating_systems: Table = field(default_factory=dict)
    pythons: Table = field(default_factory=dict)
    modules: tuple[str, ...] = _MODULES
    unload_order: tuple[str, ...] = _UNLOAD
    hl_smi: str = ""
    firmware: Mapping[str, str] = field(default_factory=dict)
    source: str = "docs.habana.ai Support_Matrix; PyPI habana-pyhlml"
    unverified: tuple[str, ...] = ()

    @property
    def package_version(self) -> str:
        """The version of every package of this release, for example ``1.24.1-482``."""
        return f"{self.version}-{self.build}"


def _line_1_24(version: str, build: str, pytorch: str) -> Release:
    return Release(
        version,
        build,
        pytorch,
        operating_systems=_SYSTEMS_1_24,
        pythons=_PYTHONS_1_24,
        unverified=("operating_systems", "pythons"),
    )


def _line_1_22(version: str, build: str, pytorch: str) -> Release:
    firmware = {"gaudi2": "1.22.0-fw-61.3.1-sec-11", "gaudi3": "1.22.0-fw-61.3.2-sec-3"}
    return Release(version, build, pytorch, operating_systems=_SYSTEMS_1_22, pythons=_PYTHONS_1_22, firmware=firmware)


def _line_1_21(version: str, build: str, **firmware: str) -> Release:
    return Release(
        version,
        build,
        "2.6.0",
        _GAUDI_1_TO_3,
        operating_systems=_SYSTEMS_1_21,
        pythons=_PYTHONS_1_21,
        firmware=firmware,
    )


def _before_1_21(version: str, build: str, pytorch: str, **firmware: str) -> Release:
    return Release(
        version,
        build,
        pytorch,
        _GAUDI_1_TO_3,
        operating_systems={"ubuntu-22.04": (">=5.15",), "ubuntu-24.04": ("6.8",), "rhel-9.2": (), "rhel-9.4": ()},
        pythons={"ubuntu-22.04": ("3.10",), "ubuntu-24.04": ("3.12",)},
        modules=_MODULES_BEFORE_1_21,
        unload_order=_UNLOAD_BEFORE_1_21,
        firmware=firmware,
        source="HabanaAI/Setup_and_Install history; PyPI habana-pyhlml",
        unverified=("operating_systems", "pythons", "unload_order"),
    )


RELEASES: Mapping[str, Release] = {
    row.version: row
    for row in (
        # Only habana-pyhlml is known of 1.24.2; its PyTorch is that of 1.24.1.
        replace(
            _line_1_24("1.24.2", "481", "2.11.0"),
            source="PyPI habana-pyhlml",
            unverified=("pytorch", "operating_systems", "pythons"),
        ),
        replace(_line_1_24("1.24.1", "482", "2.11.0"), hl_smi="1.24.0-fw-62.6.2.0"),
        replace(_line_1_24("1.24.0", "1007", "2.10.0"), hl_smi="1.24.0-fw-62.6.2.0"),
        replace(_line_1_22("1.23.0", "695", "2.9.0"), operating_systems=_SYSTEMS_1_23, hl_smi="1.23.0-fw-62.2.1.1"),
        _line_1_22("1.22.2", "32", "2.7.1"),
        replace(_line_1_22("1.22.1", "6", "2.7.1"), hl_smi="1.22.1-fw-61.4.2.1"),
        _line_1_22("1.22.0", "740", "2.7.1"),
        _line_1_21("1.21.5", "6"),
        _line_1_21("1.21.4", "3", gaudi3="1.21.3-fw-61.0.2-sec-3"),
        _line_1_21("1.21.3", "57", gaudi3="1.21.3-fw-61.0.2-sec-3"),
        _line_1_21("1.21.2", "76", gaudi2="1.21.2-fw-61.0.0-sec-11", gaudi3="1.21.2-fw-60.1.0-sec-2"),
        replace(_line_1_21("1.21.1", "16", gaudi3="1.21.1-fw-59.2.3-sec-2"), hl_smi="1.21.1-fw-59.2.3.0"),
        _line_1_21("1.21.0", "555", gaudi3="1.21.0-fw-59.2.1-sec-2"),
        _before_1_21("1.20.1", "97", "2.6.0", gaudi2="1.20.1-fw-58.2.6-sec-9", gaudi3="1.20.1-fw-58.2.7-sec-9"),
        replace(_before_1_21("1.20.0", "543", "2.6.0", gaudi3="1.20.0-fw-58.1.1-sec-2"), hl_smi="1.20.0-fw-58.1.1.1"),
        _before_1_21("1.19.2", "32", "2.5.1"),
        _before_1_21("1.19.1", "26", "2.5.1", gaudi3="1.19.1-fw-57.2.2-sec-2"),
        _before_1_21("1.19.0", "561", "2.5.1"),
        _before_1_21("1.18.0", "524", "2.4.0", gaudi2="1.18.0-fw-53.1.1-sec-9"),
    )
}


def find_release(text: str, overrides: Mapping[str, Mapping[str, object]] | None = None) -> Release:
    """The release called ``1.24.1`` or ``1.24.1-482``.

    ``overrides`` maps a version to fields of :class:`Release` that replace or add a row; a new row takes what it does
    not name from the newest release. Raises :class:`GaudiError` for an unknown release or build and a wrong override.
    """
    known = {**RELEASES, **{version: _overridden(version, row) for version, row in (overrides or {}).items()}}
    version, _dash, build = text.strip().partition("-")
    row = known.get(version)
    if row is None:
        raise GaudiError(_unknown(text, list(known)), release=text, known=list(known))
    if build and build != row.build:
        raise GaudiError(
            f"Release {text} is not known, {version} has build {row.build}: set gaudi_release to {row.package_version} "
            "or give the build in gaudi_release_overrides.",
            release=text,
        )
    return row


def release_part(version: str) -> str:
    """The release in a version that a machine reports: ``1.24.1`` of the driver's ``1.24.1-b336d5e``."""
    return version.strip().partition("-")[0]


def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a dotted version for comparing; what follows the first part that is no number is ignored."""
    numbers: list[int] = []
    for part in version.strip().split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def kernel_fits(kernel: str, accepted: Sequence[str]) -> bool:
    """Whether a kernel release (``6.8.0-45-generic``) is among the kernels that a support matrix row accepts."""
    return not accepted or any(_kernel_matches(version_key(kernel), rule) for rule in accepted)


def _kernel_matches(kernel: tuple[int, ...], rule: str) -> bool:
    if rule.startswith(">="):
        return kernel >= version_key(rule[2:])
    series = version_key(rule)
    return kernel[: len(series)] == series


def _unknown(text: str, known: list[str]) -> str:
    near = difflib.get_close_matches(text.strip().partition("-")[0], known, n=1, cutoff=0.8)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return (
        f"Release {text!r} is not known{hint}: set gaudi_release to one of {', '.join(known)}, "
        "or describe it in gaudi_release_overrides."
    )


def _overridden(version: str, row: Mapping[str, object]) -> Release:
    names = {spec.name for spec in fields(Release)} - {"version"}
    wrong = sorted(set(row) - names)
    if wrong:
        raise GaudiError(
            f"gaudi_release_overrides[{version}] cannot set {', '.join(wrong)}; use {', '.join(sorted(names))}."
        )
    if version not in RELEASES and "build" not in row:
        raise GaudiError(f"gaudi_release_overrides[{version}] adds a release and needs its 'build'.")
    base = RELEASES.get(version) or replace(RELEASES[NEWEST], version=version, hl_smi="", firmware={})
    base = replace(base, source="gaudi_release_overrides")
    return replace(base, **{name: _field_value(version, name, value) for name, value in row.items()})  # type: ignore[arg-type]


def _field_value(version: str, name: str, value: object) -> object:
    """An override as YAML gives it, in the type of the field: lists become tuples, numbers become text."""
    wanted = getattr(RELEASES[NEWEST], name)
    if isinstance(wanted, tuple) and isinstance(value, list):
        return tuple(str(entry) for entry in value)
    if isinstance(wanted, Mapping) and isinstance(value, Mapping):
        return {
            str(key): tuple(map(str, entry)) if isinstance(entry, list) else str(entry) for key, entry in value.items()
        }
    if isinstance(wanted, str) and isinstance(value, (str, int)):
        return str(value)
    shape = "a list" if isinstance(wanted, tuple) else "a mapping" if isinstance(wanted, Mapping) else "text"
    raise GaudiError(f"gaudi_release_overrides[{version}].{name} must be {shape}, not {value!r}.")
