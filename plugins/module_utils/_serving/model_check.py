# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of a model against its record, before an engine reads them: each byte, at each start.

A record is the registry's, or that of an export. A program of ours, which an instance's unit starts as its account.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._model.files import Digest, ModelDirectory
from .._model.record import RECORD as OF_REGISTRY
from .._model.signature import SIGNATURE
from .._node.json_file import parse_object
from .._node.regular_file import read_bounded

OF_EXPORT = "gaudi3_scale_export.json"
OPTION = "model"
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Recorded:
    """What a record lists; ``version`` is its own digest."""

    record: str
    version: str
    files: dict[str, Digest]

    @property
    def weight_bytes(self) -> int:
        return sum(one.bytes for name, one in self.files.items() if name.endswith((".safetensors", ".bin")))


def read_record(directory: str) -> Recorded:
    """GaudiError where there is none that can be read."""
    for name in (OF_REGISTRY, OF_EXPORT):
        try:
            text = read_bounded(f"{directory}/{name}", _MOST_BYTES)
            return Recorded(name, hashlib.sha256(text).hexdigest(), listed(parse_object(text, _MOST_BYTES)))
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            break
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise GaudiError(f"{OPTION} {directory} is refused: its {name} cannot be used ({reason}).") from error
    if Path(directory).is_file():
        raise GaudiError(
            f"{OPTION} {directory} is a file: neither a checkpoint nor TorchScript reaches a Gaudi card through vLLM; "
            "give the directory that `gaudi3_scale export` made of it."
        )
    if not Path(directory).is_dir():
        raise GaudiError(f"{OPTION}: there is no directory {directory} on this node; correct the path.")
    raise GaudiError(
        f"{OPTION} {directory} has no {OF_EXPORT}, so nobody says what it is; export the checkpoint with `gaudi3_scale "
        "export`, which writes one."
    )


def listed(record: dict[str, Any]) -> dict[str, Digest]:
    """The files of a record; ValueError where it lists none."""
    try:
        found = {str(name): Digest(int(one["bytes"]), str(one["sha256"])) for name, one in record["files"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError("it lists no files") from error
    if not found:
        raise ValueError("it lists no files")
    return found


def check_files(directory: str, version: str = "") -> Recorded:
    """Read every byte; GaudiError for the first file that is not as it is recorded, or that is in no record."""
    recorded = read_record(directory)
    if version and recorded.version != version:
        raise _refused(directory, f"its {recorded.record} is another than when the instance was set up")
    there = ModelDirectory(directory, OPTION)
    names = set(there.names()) - {OF_REGISTRY, OF_EXPORT, SIGNATURE}
    listed_names = set(recorded.files) - {OF_REGISTRY, OF_EXPORT, SIGNATURE}
    for name in sorted(listed_names - names)[:1]:
        raise _refused(directory, f"{name} is missing")
    for name in sorted(names - listed_names)[:1]:
        raise _refused(directory, f"{name} is not in its record")
    for name in sorted(listed_names):
        with there.opened(name) as stream:
            digest = hashlib.sha256()
            while piece := stream.read(1 << 20):
                digest.update(piece)
        if digest.hexdigest() != recorded.files[name].sha256:
            raise _refused(directory, f"{name} is changed or damaged")
    return recorded


def _refused(directory: str, clause: str) -> GaudiError:
    return GaudiError(
        f"{OPTION} {directory} is refused: {clause}; serve another version, or export or publish the model again."
    )


def main(argv: Sequence[str]) -> int:
    """Of a directory and the digest that its record must have; "": any."""
    directory, version = argv
    try:
        check_files(directory, version)
    except (GaudiError, OSError) as error:
        sys.stderr.write(f"gaudi3_scale: {error}\n")
        return 1
    return 0
