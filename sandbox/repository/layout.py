# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where the package repository's content lies on the host, and replacing one part of it while it is being served."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..paths import CACHE, make_directory

HOME = CACHE / "repository"
WWW = HOME / "www"
# The vendor's package repository has this prefix before every path.
ARTIFACTORY = WWW / "artifactory"


def is_current(part: Path, digest: str) -> bool:
    """Whether ``part`` was built from the inputs with this digest."""
    stamp = _stamp(part)
    return part.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == digest


@contextmanager
def replacing(part: Path, digest: str) -> Iterator[Path]:
    """An empty directory to build ``part`` in; it takes the place of the old one when all went well."""
    make_directory(part.parent)
    scratch = Path(tempfile.mkdtemp(dir=make_directory(HOME), prefix="new-"))
    try:
        scratch.chmod(0o755)
        yield scratch
        old = scratch.with_name(f"{scratch.name}-old")
        if part.exists():
            part.rename(old)
        scratch.rename(part)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    stamp = _stamp(part)
    make_directory(stamp.parent).joinpath(stamp.name).write_text(digest, encoding="utf-8")


def _stamp(part: Path) -> Path:
    return HOME / "stamps" / "_".join(part.relative_to(HOME).parts)
