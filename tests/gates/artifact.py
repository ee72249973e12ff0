# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The collection as it is shipped, for gates that look at that instead of the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .runner import ROOT


def build(target: Path) -> Path:
    """The tarball, in the directory ``target``."""
    subprocess.run([program("ansible-galaxy"), "collection", "build", "--output-path", target], cwd=ROOT, check=True)
    (tarball,) = target.glob("*.tar.gz")
    return tarball


def unpack(tarball: Path, collections: Path) -> Path:
    """The collection's own directory below ``collections``, at the path by which Ansible finds it."""
    target = collections / "ansible_collections" / "gaudi3" / "scale"
    target.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--file", tarball, "--directory", target], check=True)
    return target


def program(name: str) -> str:
    """A program of the Python that runs this."""
    return str(Path(sys.executable).with_name(name))
