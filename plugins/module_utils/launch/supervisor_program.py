# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The supervisor's program on a node: one file, which stays as it is while the collection changes."""

from __future__ import annotations

import functools
import hashlib
import pkgutil
import sys
import tempfile
from pathlib import Path

from ..errors import GaudiError
from ..job.paths import JobPaths
from ..supervisor import loop as supervisor_loop
from ..supervisor.archive import build


def supervisor_command(paths: JobPaths) -> tuple[str, ...]:
    """What runs the supervisor, with the Python that Ansible uses here: the venv of the ranks may be a broken one."""
    return sys.executable, _place(paths, _program())


def install(paths: JobPaths) -> None:
    """Put the program where :func:`supervisor_command` says it is. Others are left: jobs may run with them."""
    program = _program()
    place = Path(_place(paths, program))
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # A file with the final name is always whole, also while another job's launch writes the same.
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as stream:
        stream.write(program)
    Path(stream.name).chmod(0o644)
    Path(stream.name).replace(place)


def _place(paths: JobPaths, program: bytes) -> str:
    return f"{paths.supervisors}/{hashlib.sha256(program).hexdigest()[:16]}.pyz"


@functools.cache
def _program() -> bytes:
    # A launch asks more than once, and making it is most of what a launch computes on the node.
    return build(_source)


def _source(name: str) -> str:
    """The source of a module of the core by its path; it may lie in the archive that Ansible sends."""
    package = supervisor_loop.__name__.rsplit(".", 2)[0]
    data = pkgutil.get_data(package, f"{name}.py")
    if data is None:
        raise GaudiError(f"{package}/{name}.py has no source; install the collection anew.")
    return data.decode()
