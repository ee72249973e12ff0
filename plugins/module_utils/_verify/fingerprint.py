# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What should be equal among equal nodes: as fields to compare, as one short hash, and how a node differs.

Pure. The input are facts as ``_upgrade/inventory.py`` has them, in plain dictionaries. Serial numbers, addresses, host
names and what runs at the moment are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_LENGTH = 12


def equal_fields(facts: Mapping[str, Any]) -> dict[str, str]:
    """Field to value, in the order in which a person asks; what is not there has no field."""
    single = {
        "generation": _listed(sorted(facts["generations"])),
        "cards": str(facts["cards"]),
        "board": _listed(sorted(facts["boards"])),
        "operating system": facts["os"],
        "architecture": facts["architecture"],
        "kernel": facts["kernel"],
        "kernel at the next boot": facts["next_kernel"],
        "headers of kernels": _listed(sorted(facts["headers"])),
        "loaded driver": facts["driver"],
        "SPI firmware": _firmware(facts["spi"]),
        "boot firmware (FIT)": _firmware(facts["fit"]),
        "CPLD": _firmware(facts["cpld"]),
        "PyTorch": facts["pytorch"],
        "PyTorch's release": facts["pytorch_release"],
        "packages partly installed": _listed(sorted(facts["half_way"])),
    }
    tables = {
        **{f"driver built for {kernel}": version for kernel, version in sorted(facts["built"].items())},
        **{f"package {name}": _held(name, version, facts) for name, version in sorted(facts["packages"].items())},
        **{f"program {name}": version for name, version in sorted(facts["programs"].items())},
    }
    return {name: value for name, value in {**single, **tables}.items() if value}


def passing_fields(facts: Mapping[str, Any]) -> dict[str, str]:
    """What should be equal, too, and yet comes and goes, so that it is in no hash."""
    known = {
        "clock reduced now for": facts.get("throttled"),
        "clock reduced since the driver was loaded for": facts.get("throttled_ever"),
    }
    return {name: _listed(sorted(reasons)) or "nothing" for name, reasons in known.items() if reasons is not None}


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits; equal for equal nodes, whatever order the facts came in."""
    text = json.dumps(equal_fields(facts), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


@dataclass(frozen=True)
class Difference:
    """One field of a node that is not as most others have it; None is "not there"."""

    field: str
    here: str | None
    majority: str | None
    having: int
    nodes: int


def differences(node: str, group: Mapping[str, Mapping[str, Any]]) -> list[Difference]:
    """How ``node`` differs from the majority of ``group`` (host to facts, the node among them), field by field."""
    fields = {host: {**equal_fields(facts), **passing_fields(facts)} for host, facts in group.items()}
    return field_differences(node, fields)


def field_differences(node: str, fields: Mapping[str, Mapping[str, str]]) -> list[Difference]:
    """The same from any fields by host.

    Where as many nodes have the node's value as another one, the other one is shown: ``having`` of ``nodes`` tells that
    it is no majority.
    """
    names = dict.fromkeys(name for host in (node, *fields) for name in fields[host])
    found = []
    for name in names:
        here = fields[node].get(name)
        value, count = _most_common((fields[host].get(name) for host in fields), here)
        if value != here:
            found.append(Difference(name, here, value, count, len(fields)))
    return found


def _most_common(values: Iterable[str | None], here: str | None) -> tuple[str | None, int]:
    counts = Counter(values)
    # Of equally common values the one that is not the node's own, and then the first by name.
    best = min(counts, key=lambda value: (-counts[value], value == here, value or ""))
    return best, counts[best]


def _firmware(versions: Mapping[str, str | None]) -> str | None:
    """Each version that some card has, with "unknown" where only some cards tell."""
    reported = {version for version in versions.values() if version}
    unknown = {"unknown"} if reported and None in versions.values() else set()
    return _listed(sorted(reported | unknown))


def _held(name: str, version: str, facts: Mapping[str, Any]) -> str:
    return f"{version}, held" if name in facts["held"] else version


def _listed(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None
