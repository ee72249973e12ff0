# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated libhlml.so: built from C by the distribution's own compiler, once for each release that has it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from ..commands import run

SOURCE = Path(__file__).with_name("hlml") / "libhlml.c"


def build(target: Path, release: str, root: str = "", hl_smi: str = "") -> Path:
    """Write the library of ``release`` to ``target``.

    ``root`` is where the simulator keeps its state, and ``hl_smi`` the program that sets limits; both are the nodes'
    own where they are empty. They are built in, so that no variable leads a program of root's elsewhere.
    """
    given = {"RELEASE": release, "SIMULATOR_ROOT": root, "HL_SMI": hl_smi}
    defined = [f'-D{name}="{value}"' for name, value in given.items() if value]
    run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *defined, "-o", target, SOURCE])
    return target


@cache
def library(release: str) -> bytes:
    """The same as bytes, for a package."""
    with tempfile.TemporaryDirectory(prefix="hlml-") as scratch:
        return build(Path(scratch, "libhlml.so"), release).read_bytes()
