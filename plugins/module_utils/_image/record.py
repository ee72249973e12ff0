# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a build host knows of an image that it made: kept as a file, so that another run does only what is missing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Mapping

from .._node.json_file import read_json
from .._node.rendered_files import WantedFile, pending, write

BUILD, PROVE, PUSH, SIGN = "build", "test", "push", "sign"


@dataclass(frozen=True)
class ImageRecord:
    """``inputs`` is the digest of all that the image is made from; ``proof`` is empty before it was tested.

    ``pushed`` is a repository to the digest there; ``signed`` is what the last signature is of, as NAME@DIGEST.
    """

    inputs: str
    image: str
    image_id: str
    digest: str
    base: str
    release: str
    torch: str
    layers: int
    own_layers: int
    packages: int
    epoch: int
    sbom_sha256: str
    proof: Mapping[str, Any] = field(default_factory=dict)
    pushed: Mapping[str, str] = field(default_factory=dict)
    signed: str = ""
    key: str = ""


def read_record(path: str) -> ImageRecord | None:
    """The record; None where there is none that this version can read."""
    data = read_json(path)
    try:
        return ImageRecord(**data) if data else None
    except TypeError:
        return None


def write_record(path: str, record: ImageRecord) -> None:
    """Keep it."""
    text = json.dumps(asdict(record), indent=1, sort_keys=True) + "\n"
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    for change in pending([WantedFile(path, text)]):
        write(change)


def due(
    record: ImageRecord | None, inputs: str, image_id: str, device: str, repository: str, signs: bool, rebuild: bool
) -> tuple[str, ...]:
    """What is to be done, in this order; ``image_id`` is of the image of that name on this host, empty for none."""
    if record is None or rebuild or record.inputs != inputs or not image_id or record.image_id != image_id:
        return tuple(step for step, wanted in _all(repository, signs) if wanted)
    reference = signed_reference(record, repository)
    steps = [
        (PROVE, record.proof.get("device") != device),
        (PUSH, bool(repository) and repository not in record.pushed),
        (SIGN, signs and (record.signed != reference or not reference)),
    ]
    return tuple(step for step, wanted in steps if wanted)


def _all(repository: str, signs: bool) -> list[tuple[str, bool]]:
    return [(BUILD, True), (PROVE, True), (PUSH, bool(repository)), (SIGN, signs)]


def signed_reference(record: ImageRecord, repository: str) -> str:
    """What a signature is of: the image in the repository, or the one of this host; empty before it was pushed."""
    if not repository:
        return f"{record.image.rpartition(':')[0]}@{record.digest}"
    digest = record.pushed.get(repository, "")
    return f"{repository}@{digest}" if digest else ""
