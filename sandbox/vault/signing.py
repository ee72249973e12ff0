# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vault's signing keys: made once, kept with the caches, used through a short-lived GnuPG home."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plugins.module_utils._node.commands import run_process
from plugins.module_utils._packages import gnupg

from ..commands import run
from ..paths import make_directory
from .layout import VAULT

SECRET_KEY = VAULT / "signing-key.asc"
OWNER = "gaudi3.scale sandbox vault <gaudi3-scale@localhost>"


@contextmanager
def gnupg_home() -> Iterator[Path]:
    """An empty GnuPG home."""
    with gnupg.home(run_process) as home:
        yield Path(home)


def gpg(home: Path, *arguments: str) -> str:
    """Run gpg in that home, without questions."""
    return gnupg.gpg(str(home), run_process, *arguments)


def make_key(home: Path) -> None:
    """A new signing key without a passphrase."""
    gnupg.make_key(str(home), OWNER, run_process)


def ensure_key(home: Path, secret: Path = SECRET_KEY) -> None:
    """Put the key that is kept in ``secret`` into that home; makes the key when there is none yet."""
    make_directory(VAULT)
    gnupg.ensure_key(str(home), str(secret), OWNER, run_process)


def public_key(home: Path) -> str:
    """The armoured public key of that home."""
    return gnupg.public_key(str(home), run_process)


def sign_release(home: Path, suite: Path) -> None:
    """Sign ``Release`` in the suite's directory, inline and detached."""
    gnupg.sign_release(str(home), str(suite), run_process)


def sign_metadata(home: Path, repodata: Path) -> None:
    """Sign the index of a dnf repository."""
    index = repodata / "repomd.xml"
    gpg(home, "--armor", "--detach-sign", "--output", f"{index}.asc", str(index))


def sign_packages(home: Path, directory: Path) -> None:
    """Sign every RPM file in ``directory``; a signature that a file has is replaced."""
    # Debian's rpm looks for the program under the name that it had before version 2 was the only one.
    macros = {"_gpg_path": str(home), "_gpg_name": OWNER, "__gpg": shutil.which("gpg") or "gpg"}
    key = [part for name, value in macros.items() for part in ("--define", f"{name} {value}")]
    run(["rpmsign", *key, "--resign", *sorted(directory.glob("*.rpm"))])
