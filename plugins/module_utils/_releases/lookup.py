# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Finding a release, and comparing versions. The rows are in ``table.py``, their columns in ``row.py``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from .._errors import GaudiError
from .row import Release
from .table import NEWEST, RELEASES

__all__ = ["NEWEST", "RELEASES", "Release", "find_release", "kernel_fits", "release_part", "version_key"]

# What a release that an operator adds has in common with the newest one until its row says otherwise; of the other
# columns nothing is known.
_KEPT_BY_A_NEW_RELEASE = ("pytorch", "generations", "operating_systems", "pythons", "modules", "unload_order")


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
    if not isinstance(row, Mapping):
        raise GaudiError(f"gaudi_release_overrides[{version}] must be a mapping of fields, not {row!r:.80}.")
    names = {spec.name for spec in fields(Release)} - {"version"}
    wrong = sorted(set(row) - names)
    if wrong:
        raise GaudiError(
            f"gaudi_release_overrides[{version}] cannot set {', '.join(wrong)}; use {', '.join(sorted(names))}."
        )
    if version not in RELEASES and "build" not in row:
        raise GaudiError(f"gaudi_release_overrides[{version}] adds a release and needs its 'build'.")
    given = {name: _field_value(version, name, value) for name, value in row.items()}
    base = RELEASES.get(version) or _new(version)
    # What the operator says of a field rests on the operator.
    base = replace(
        base,
        source="gaudi_release_overrides",
        unverified=tuple(name for name in base.unverified if name not in row),
        inferred=tuple(name for name in base.inferred if name not in row),
        conflicts={name: sentence for name, sentence in base.conflicts.items() if name not in row},
    )
    return replace(base, **given)  # type: ignore[arg-type]


def _new(version: str) -> Release:
    newest = RELEASES[NEWEST]
    kept = {name: getattr(newest, name) for name in _KEPT_BY_A_NEW_RELEASE}
    return Release(version, build="", inferred=_KEPT_BY_A_NEW_RELEASE, **kept)


def _field_value(version: str, name: str, value: object) -> object:
    """An override as YAML gives it, in the type of the field: lists become tuples, numbers become text."""
    wanted = getattr(RELEASES[NEWEST], name)
    if isinstance(wanted, tuple) and isinstance(value, list):
        return tuple(str(entry) for entry in value)
    if isinstance(wanted, Mapping) and isinstance(value, Mapping):
        # A table's entry may be one text, which stands for a list of one.
        lists = any(isinstance(entry, tuple) for entry in wanted.values())
        return {str(key): _entry(entry, lists) for key, entry in value.items()}
    if isinstance(wanted, str) and isinstance(value, (str, int)):
        return str(value)
    shape = "a list" if isinstance(wanted, tuple) else "a mapping" if isinstance(wanted, Mapping) else "text"
    raise GaudiError(f"gaudi_release_overrides[{version}].{name} must be {shape}, not {value!r}.")


def _entry(entry: object, wants_list: bool) -> str | tuple[str, ...]:
    if isinstance(entry, list):
        return tuple(map(str, entry))
    return (str(entry),) if wants_list else str(entry)
