# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The public keys of a package repository: fetched, kept in a file, and made known to rpm where it wants that."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import read_text
from .openpgp import armored, binary, certificates, fingerprints, is_key, with_fingerprint


@dataclass(frozen=True)
class RepositoryKey:
    """One key. ``option`` is what the operator corrects when it is wrong; ``in_rpm``: rpm has to know it too.

    No key but that with the ``fingerprint`` is taken, where one is known, and no file but that with the checksum.
    """

    url: str
    path: str
    option: str
    in_rpm: bool = False
    fingerprint: str = ""
    sha256: str = ""

    def is_there(self) -> bool:
        """Whether its file holds a whole key, and no other than the one that is wanted."""
        text = read_text(self.path) or ""
        return is_key(text) and with_fingerprint(text, self.fingerprint) == text

    def placeholder(self) -> str:
        """What check mode shows for the key: it promises not to touch the network."""
        return f"(the public key that {self.url} answers)\n"

    def text(self) -> str:
        """The key as its URL answers it, with ASCII armor."""
        # Only a key that is missing is fetched, and what speaks HTTP and TLS takes longer to import than all else here.
        from .._node.downloads import fetch

        answer = fetch(self.url, "The package repository's public key", self.option)
        if self.sha256 and hashlib.sha256(answer).hexdigest() != self.sha256:
            raise GaudiError(
                f"{self.url} is another file than the signed manifest names; somebody changed it: verify the bundle "
                "where it is served.",
                url=self.url,
            )
        try:
            key = armored(answer)
        except ValueError as error:
            raise GaudiError(
                f"{self.url} does not return an OpenPGP public key ({error}); correct {self.option}.", url=self.url
            ) from error
        trusted = with_fingerprint(key, self.fingerprint)
        if not trusted:
            raise GaudiError(
                f"{self.url} is the key {fingerprints(binary(key))[0]}, not {self.fingerprint}; nothing was taken from "
                "there: ask who serves it which is right, then correct the fingerprint or the URL.",
                url=self.url,
            )
        return trusted


def rpm_labels(text: str) -> list[str]:
    """What rpm's database calls the keys of this text: ``gpg-pubkey-<end of the key's id>-<time of its making>``.

    Raises ValueError for a key that rpm of RHEL 9 cannot read, as :mod:`.openpgp` does.
    """
    found = certificates(binary(text))
    if any(certificate.version != 4 for certificate in found):
        raise ValueError("an OpenPGP key of another version than 4")
    return [f"gpg-pubkey-{key.fingerprint[-8:].lower()}-{key.created:08x}" for key in found]


def unknown_to_rpm(keys: list[RepositoryKey], run: Run) -> list[RepositoryKey]:
    """Those of ``keys`` whose files are there, that rpm has to know and does not."""
    return [key for key in keys if key.in_rpm and key.is_there() and not _known(key, run)]


def _known(key: RepositoryKey, run: Run) -> bool:
    return run(["rpm", "-q", *_labels(key)]).rc == 0


def _labels(key: RepositoryKey) -> list[str]:
    try:
        return rpm_labels(read_text(key.path) or "")
    except ValueError as error:
        raise GaudiError(f"{key.path} holds no key that rpm can use but {error}; correct {key.option}.") from error


def import_into_rpm(key: RepositoryKey, run: Run) -> None:
    """Make the key one that rpm takes packages from."""
    done = run(["rpm", "--import", key.path])
    if done.rc != 0:
        reason = (done.stderr or done.stdout).strip() or "no reason given"
        raise GaudiError(f"rpm does not take the key in {key.path} (from {key.url}): {reason}; correct {key.option}.")
