# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Versions of programs beside the vendor's own that a release is validated with: container engines, MPI, libfabric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .._node.commands import Run

_TIMEOUT_S = 20


@dataclass(frozen=True)
class _Program:
    """``programs`` are tried in order; the first group of ``pattern`` in what it prints is the version."""

    programs: tuple[str, ...]
    pattern: str


# The vendor's images and Intel's recipes put MPI and libfabric below /opt (hccl_demo, optimized-cloud-recipes).
_PROGRAMS: Mapping[str, _Program] = {
    "docker": _Program(("docker",), r"Docker version ([\w.+~-]+)"),
    "podman": _Program(("podman",), r"podman version ([\w.+~-]+)"),
    "containerd": _Program(("containerd",), r"^containerd \S+ v?([\w.+~-]+)"),
    "kubernetes": _Program(("kubelet",), r"Kubernetes v([\w.+~-]+)"),
    "open_mpi": _Program(
        ("/opt/habanalabs/openmpi/bin/mpirun", "/opt/amazon/openmpi/bin/mpirun", "mpirun"),
        r"\(Open MPI\) ([\w.+~-]+)",
    ),
    "libfabric": _Program(
        ("/opt/habanalabs/libfabric/bin/fi_info", "/opt/amazon/efa/bin/fi_info", "fi_info"),
        r"libfabric: ([\w.+~-]+)",
    ),
}


def read_versions(run: Run) -> dict[str, str]:
    """Name to version, of those programs that are installed and say it."""
    found = {name: _version(program, run) for name, program in _PROGRAMS.items()}
    return {name: version for name, version in found.items() if version}


def _version(program: _Program, run: Run) -> str | None:
    for candidate in program.programs:
        done = run([candidate, "--version"], timeout=_TIMEOUT_S)
        match = re.search(program.pattern, done.stdout, re.MULTILINE)
        if match:
            return match[1]
    return None
