# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files that a node exporter's textfile collector reads: whole, or as they were before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .exposition import Family, text_of


def write_families(path: Path, families: Iterable[Family]) -> None:
    """Put them in the place of what was there, readable for everybody; OSError where that cannot be done."""
    content = text_of(families).encode("utf-8", "replace")
    # Its name does not end in .prom, so that nobody reads it before it has its own.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
