# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A model's record: what its files are, and what is known of where they come from. It lies beside the files, signed.

Its SHA-256 is the version of the model. No time is in it: the same files with the same facts are one version.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Mapping

from .._errors import GaudiError
from .._node.json_file import parse_object
from .files import Digest
from .names import is_whole_version, path_fault
from .signature import SIGNATURE

RECORD = "gaudi3_scale_model.json"
FORMAT = "gaudi3.scale model record 1"
# 20,000 files, and all facts.
MOST_BYTES = 1 << 23
MOST_FACTS_BYTES = 1 << 20
# Fact to its form; the operator, or the job, gives those that are known.
FACTS: Mapping[str, type] = {
    "job": str,
    "commit": str,
    "step": int,
    "license": str,
    "data": dict,
    "flags": dict,
    "versions": dict,
    "driver": str,
    "firmware": list,
    "curve": list,
}

_ELEMENTS = {"firmware": "str", "curve": "dict"}
# The same as suboptions of a module.
FACT_OPTIONS: Mapping[str, Mapping[str, str]] = {
    name: {"type": form.__name__, **({"elements": _ELEMENTS[name]} if form is list else {})}
    for name, form in FACTS.items()
}


@dataclass(frozen=True)
class Record:
    """``files`` are all of the model's but the record itself and the signature."""

    name: str
    files: Mapping[str, Digest]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> bytes:
        files = {path: {"bytes": one.bytes, "sha256": one.sha256} for path, one in self.files.items()}
        content = {"format": FORMAT, "name": self.name, "files": files, "facts": dict(self.facts)}
        return (json.dumps(content, sort_keys=True, indent=1) + "\n").encode()

    @property
    def version(self) -> str:
        return version_of(self.text())

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.files.values())


def version_of(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def checked_facts(option: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something; GaudiError for one that there is not, or that has another form."""
    unknown = sorted(set(facts) - set(FACTS))
    if unknown:
        raise GaudiError(f"{option}: {unknown[0]!r} is not a fact of a record; give of {', '.join(sorted(FACTS))}.")
    told = {name: value for name, value in facts.items() if value not in (None, "", [], {})}
    for name, value in told.items():
        if not isinstance(value, FACTS[name]) or isinstance(value, bool):
            raise GaudiError(f"{option}: {name} has to be a {_FORMS[FACTS[name]]}, not {str(value)[:60]!r}.")
    try:
        size = len(json.dumps(told, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise GaudiError(f"{option}: it has a value that JSON cannot hold ({error}); correct it.") from error
    if size > MOST_FACTS_BYTES:
        raise GaudiError(
            f"{option}: it has {size} bytes, and a record takes {MOST_FACTS_BYTES}; give a digest of the data "
            "instead of the data, and fewer points."
        )
    return told


_FORMS = {str: "text", int: "whole number", dict: "mapping", list: "list"}


def parse(text: bytes) -> Record:
    """ValueError with a clause where it is no record."""
    content = parse_object(text, MOST_BYTES)
    if content.get("format") != FORMAT:
        raise ValueError("it is no record of a model")
    try:
        files = {path: Digest(row["bytes"], row["sha256"]) for path, row in content["files"].items()}
        record = Record(str(content["name"]), files, dict(content["facts"].items()))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("it is no record of a model") from error
    for path, one in files.items():
        fault = path_fault(path)
        if fault or path in (RECORD, SIGNATURE):
            raise ValueError(f"{path[:200]!r}: {fault or 'it is a file of the registry'}")
        is_number = isinstance(one.bytes, int) and not isinstance(one.bytes, bool)
        if not is_number or not isinstance(one.sha256, str) or not is_whole_version(one.sha256):
            raise ValueError(f"{path}: it has no size or no SHA-256")
    if record.text() != text:
        raise ValueError("it is not written as a record is")
    return record
