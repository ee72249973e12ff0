# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which files are meant by ``--text``, and their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import numpy as np

from gaudi3_scale.core._errors import GaudiError


def text_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant by ``paths``: a file itself, a directory's regular files at any depth, sorted by path.

    Links inside a directory are left out, since they mostly repeat a neighbor.
    Raises GaudiError for a path that is neither.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
        elif path.is_file():
            files.append(path)
        else:
            raise GaudiError(f"--text {path}: there is no such file or directory on this node.")
    return files


def read_text(paths: Sequence[Path]) -> np.ndarray:
    """The bytes of all files as uint8, in the order of :func:`text_files`."""
    files = text_files(paths)
    try:
        text = bytearray().join(file.read_bytes() for file in files)
    except OSError as error:
        raise unreadable(error) from error
    if not text:
        raise nothing_in(paths)
    return np.frombuffer(text, dtype=np.uint8)


def unreadable(error: OSError) -> GaudiError:
    return GaudiError(f"--text {error.filename}: {error.strerror}; name files that this user can read.")


def nothing_in(paths: Sequence[Path]) -> GaudiError:
    return GaudiError(f"--text {' '.join(map(str, paths))}: no text is there; name files that are not empty.")
