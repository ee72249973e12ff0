# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Programs of the core on a node: a file each, which stays as it is while the collection changes."""

from __future__ import annotations

import functools
import hashlib
import os
import pkgutil
import tempfile
from pathlib import Path

from .._containers import image_unpack
from .._errors import GaudiError
from .._job.binding import rank as binding_rank
from .._job.container import enter
from .program_archive import build

CORE = __name__.rsplit(".", 2)[0]
# Their paths in the core.
RANK, ENTER, UNPACK = (
    program.__name__[len(CORE) + 1 :].replace(".", "/") for program in (binding_rank, enter, image_unpack)
)


def program_path(directory: str, entry: str) -> str:
    """Where the program lies; by its digest, so that a job goes on with the one that it began with."""
    return f"{directory}/{hashlib.sha256(_program(entry)).hexdigest()[:16]}.pyz"


def install(directory: str, entry: str) -> None:
    """Put the program where :func:`program_path` says it is. Others are left: jobs may run with them."""
    place = Path(program_path(directory, entry))
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # A file with the final name is always whole, also while another job's launch writes the same.
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as stream:
        stream.write(_program(entry))
        os.fchmod(stream.fileno(), 0o644)
    Path(stream.name).replace(place)


@functools.cache
def _program(entry: str) -> bytes:
    # A launch asks more than once, and making it is most of what a launch computes on the node.
    return build(_source, entry)


def _source(name: str) -> str:
    """The source of a module of the core by its path; it may lie in the archive that Ansible sends."""
    data = pkgutil.get_data(CORE, f"{name}.py")
    if data is None:
        raise GaudiError(f"{CORE}/{name}.py has no source; reinstall the collection.")
    return data.decode()
