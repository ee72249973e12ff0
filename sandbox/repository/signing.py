# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The package repository's signing keys: made once, kept with the caches, used through a short-lived GnuPG home."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..commands import run
from ..paths import make_directory
from .layout import HOME

SECRET_KEY = HOME / "signing-key.asc"
OWNER = "gaudi3.scale sandbox repository <gaudi3-scale@localhost>"


@contextmanager
def gnupg_home() -> Iterator[Path]:
    """An empty GnuPG home. Its path is short: the agent's socket in it may have 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="gpg") as directory:
        try:
            yield Path(directory)
        finally:
            run(["gpgconf", "--homedir", directory, "--kill", "all"])


def gpg(home: Path, *arguments: str) -> str:
    """Run gpg in that home, without questions."""
    return run(["gpg", "--homedir", home, "--batch", "--yes", "--quiet", *arguments])


def make_key(home: Path) -> None:
    """A new signing key without a passphrase."""
    gpg(home, "--passphrase", "", "--quick-generate-key", OWNER, "rsa3072", "sign", "never")


def ensure_key(home: Path, secret: Path = SECRET_KEY) -> None:
    """Put the key that is kept in ``secret`` into that home; makes the key when there is none yet."""
    make_directory(HOME)
    if secret.exists():
        gpg(home, "--import", str(secret))
        return
    make_key(home)
    secret.touch(mode=0o600)
    secret.write_text(gpg(home, "--armor", "--export-secret-keys"), encoding="ascii")


def public_key(home: Path) -> str:
    """The armored public key of that home."""
    return gpg(home, "--armor", "--export")


def sign_release(home: Path, suite: Path) -> None:
    """Sign ``Release`` in the suite's directory, inline and detached."""
    release = suite / "Release"
    gpg(home, "--clearsign", "--output", str(suite / "InRelease"), str(release))
    _sign_detached(home, release, Path(f"{release}.gpg"))


def sign_metadata(home: Path, repodata: Path) -> None:
    """Sign the index of a dnf repository."""
    index = repodata / "repomd.xml"
    _sign_detached(home, index, Path(f"{index}.asc"))


def _sign_detached(home: Path, file: Path, signature: Path) -> None:
    gpg(home, "--armor", "--detach-sign", "--output", str(signature), str(file))


def sign_packages(home: Path, directory: Path) -> None:
    """Sign every RPM file in ``directory``; a signature that a file has is replaced."""
    # Debian's rpm looks for the program under the name that it had before version 2 was the only one.
    macros = {"_gpg_path": str(home), "_gpg_name": OWNER, "__gpg": shutil.which("gpg") or "gpg"}
    key = [part for name, value in macros.items() for part in ("--define", f"{name} {value}")]
    run(["rpmsign", *key, "--resign", *sorted(directory.glob("*.rpm"))])
