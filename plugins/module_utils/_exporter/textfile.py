# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files of the collector, as those that a node exporter's textfile collector reads: whole, or as they were before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .exposition import Family, text_of

CARDS, REST = "cards", "node"


def path_of(directory: str, about: str) -> Path:
    """Where the metrics about the cards, or about the rest, are in the textfile collector's directory."""
    return Path(directory, f"gaudi_{about}.prom")


def write_families(path: Path, families: Iterable[Family]) -> None:
    """As :func:`put` does."""
    put(path, text_of(families).encode("utf-8", "replace"))


def put(path: Path, content: bytes) -> None:
    """In the place of what was there, readable for everybody; OSError where that cannot be done.

    No disk is waited for: what is lost with a node's power is written again at the next look.
    """
    # Its name does not end in .prom, so that nobody reads it before it has its own.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            # The file itself: its name could be another one's where others may write the directory.
            os.fchmod(stream.fileno(), 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
