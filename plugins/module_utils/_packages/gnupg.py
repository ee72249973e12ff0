# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""GnuPG where nothing is asked: signatures checked by gpgv against one key, and made in a short-lived home."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .openpgp import armored, binary


def keyring(key: bytes, path: str) -> None:
    """Write the public key as gpgv reads it. Raises ValueError where ``key`` is none."""
    Path(path).write_bytes(binary(armored(key)))


def inline_text(keys: str, signed: str, run: Run) -> str | None:
    """What the key in the keyring ``keys`` signed in the clear-signed file ``signed``; None where it did not."""
    with tempfile.TemporaryDirectory() as scratch:
        text = f"{scratch}/text"
        done = _gpgv(run, keys, "--output", text, signed)
        return Path(text).read_text(encoding="utf-8") if done.rc == 0 else None


def detached_is_good(keys: str, signature: str, file: str, run: Run) -> bool:
    """Whether ``signature`` is one of the key in the keyring ``keys`` over ``file``."""
    return _gpgv(run, keys, signature, file).rc == 0


def detached_signers(keys: str, signature: str, file: str, run: Run) -> list[str]:
    """Fingerprints of the primary keys that signed ``file`` with ``signature``; none where any signature is bad."""
    done = _gpgv(run, keys, "--status-fd", "1", signature, file)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("[GNUPG:] VALIDSIG ")]
    # The last word is the primary key's fingerprint (GnuPG's doc/DETAILS); the first may be a subkey's.
    return [row[-1] for row in rows] if done.rc == 0 else []


def _gpgv(run: Run, keys: str, *arguments: str) -> CommandResult:
    done = run(["gpgv", "--keyring", keys, *arguments])
    if done.rc == 127:
        raise GaudiError("gpgv is not installed, and without it no signature can be checked; install the package gpgv.")
    return done


@contextmanager
def home(run: Run) -> Iterator[str]:
    """An empty GnuPG home. Its path is short: the agent's socket in it may have 108 characters at most."""
    with tempfile.TemporaryDirectory(prefix="gpg") as directory:
        try:
            yield directory
        finally:
            run(["gpgconf", "--homedir", directory, "--kill", "all"])


def gpg(directory: str, run: Run, *arguments: str) -> str:
    """Run gpg in that home, without questions."""
    done = run(["gpg", "--homedir", directory, "--batch", "--yes", "--quiet", *arguments])
    if done.rc == 127:
        raise GaudiError("gpg is not installed, and the repository has to be signed; install the package gnupg.")
    if done.rc != 0:
        said = last_line(done.stderr)
        raise GaudiError(f"gpg cannot {' '.join(arguments[:1]).lstrip('-') or 'run'}: {said}.", rc=done.rc)
    return done.stdout


def make_key(directory: str, owner: str, run: Run) -> None:
    """A new signing key without a passphrase."""
    gpg(directory, run, "--passphrase", "", "--quick-generate-key", owner, "rsa3072", "sign", "never")


def ensure_key(directory: str, secret: str, owner: str, run: Run) -> None:
    """Put the key of the file ``secret`` into that home; makes both where the file is missing."""
    path = Path(secret)
    if path.exists():
        gpg(directory, run, "--import", secret)
        return
    make_key(directory, owner, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(gpg(directory, run, "--armor", "--export-secret-keys"), encoding="ascii")


def public_key(directory: str, run: Run) -> str:
    """The armored public key of that home."""
    return gpg(directory, run, "--armor", "--export")


def sign_release(directory: str, suite: str, run: Run) -> None:
    """Sign an apt repository's ``Release`` in the directory ``suite``, inline and detached."""
    gpg(directory, run, "--clearsign", "--output", f"{suite}/InRelease", f"{suite}/Release")
    sign_detached(directory, f"{suite}/Release", f"{suite}/Release.gpg", run)


def sign_detached(directory: str, file: str, signature: str, run: Run) -> None:
    """Write an armored signature over ``file``."""
    gpg(directory, run, "--armor", "--detach-sign", "--output", signature, file)
