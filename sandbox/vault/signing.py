# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vault's signing key: made once, kept with the caches, used through a short-lived GnuPG home."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..commands import run
from ..paths import make_directory
from .layout import VAULT

SECRET_KEY = VAULT / "signing-key.asc"
OWNER = "gaudi3.scale sandbox vault <gaudi3-scale@localhost>"


@contextmanager
def gnupg_home() -> Iterator[Path]:
    """An empty GnuPG home. Its path is short: the agent's socket in it may have 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="gpg") as home:
        try:
            yield Path(home)
        finally:
            run(["gpgconf", "--homedir", home, "--kill", "all"])


def gpg(home: Path, *arguments: str, text_in: str | None = None) -> str:
    """Run gpg in that home, without questions."""
    return run(["gpg", "--homedir", home, "--batch", "--yes", "--quiet", *arguments], text_in=text_in)


def make_key(home: Path) -> None:
    """A new signing key without a passphrase."""
    gpg(home, "--passphrase", "", "--quick-generate-key", OWNER, "rsa3072", "sign", "never")


def ensure_key(home: Path) -> None:
    """Put the vault's key into that home; makes the key when there is none yet."""
    if SECRET_KEY.exists():
        gpg(home, "--import", text_in=SECRET_KEY.read_text(encoding="ascii"))
        return
    make_key(home)
    make_directory(VAULT)
    SECRET_KEY.touch(mode=0o600)
    SECRET_KEY.write_text(gpg(home, "--armor", "--export-secret-keys"), encoding="ascii")


def public_key(home: Path) -> str:
    """The armoured public key of that home."""
    return gpg(home, "--armor", "--export")


def sign_release(home: Path, suite: Path) -> None:
    """Sign ``Release`` in the suite's directory, inline and detached."""
    gpg(home, "--clearsign", "--output", str(suite / "InRelease"), str(suite / "Release"))
    gpg(home, "--armor", "--detach-sign", "--output", str(suite / "Release.gpg"), str(suite / "Release"))
