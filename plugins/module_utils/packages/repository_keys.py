# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The public keys of a package repository: fetched, kept in a file, and made known to rpm where it wants that."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..errors import GaudiError
from ..node.commands import Run
from ..node.downloads import fetch
from ..node.rendered_files import read_text
from .openpgp import ARMOUR, armoured, binary


@dataclass(frozen=True)
class RepositoryKey:
    """One key. ``option`` is what the operator corrects when it is wrong; ``in_rpm``: rpm has to know it too."""

    url: str
    path: str
    option: str
    in_rpm: bool = False

    def is_there(self) -> bool:
        """Whether its file holds a key."""
        return (read_text(self.path) or "").startswith(ARMOUR)

    def placeholder(self) -> str:
        """What check mode shows for the key: it promises not to touch the network."""
        return f"(the public key that {self.url} answers)\n"

    def text(self) -> str:
        """The key as its URL answers it, with ASCII armour."""
        answer = fetch(self.url, "The vault's public key", self.option)
        try:
            return armoured(answer)
        except ValueError as error:
            raise GaudiError(
                f"{self.url} does not answer an OpenPGP public key but {error}; correct {self.option}.", url=self.url
            ) from error


def rpm_label(text: str) -> str:
    """What rpm's database calls this key: ``gpg-pubkey-<end of the key's id>-<time of its making>``.

    Raises ValueError for a key that rpm of RHEL 9 cannot read (RFC 4880 section 12.2: version 4).
    """
    key = binary(text)
    start, size = _first_packet(key)
    body = key[start : start + size]
    if not body or body[0] != 4:
        raise ValueError("it is no OpenPGP key of version 4")
    # The format's own checksum, which vouches for nothing here: allowed where FIPS forbids SHA-1.
    digest = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False)
    return f"gpg-pubkey-{digest.hexdigest()[-8:]}-{body[1:5].hex()}"


def _first_packet(key: bytes) -> tuple[int, int]:
    """Where the first packet's body starts and how long it is (RFC 4880 section 4.2)."""
    if key[0] & 0x40:
        if key[1] < 192:
            return 2, key[1]
        return 3, ((key[1] - 192) << 8) + key[2] + 192
    width = 1 << (key[0] & 3)
    return 1 + width, int.from_bytes(key[1 : 1 + width], "big")


def unknown_to_rpm(keys: list[RepositoryKey], run: Run) -> list[RepositoryKey]:
    """Those of ``keys`` whose files are there, that rpm has to know and does not."""
    return [key for key in keys if key.in_rpm and key.is_there() and not _known(key, run)]


def _known(key: RepositoryKey, run: Run) -> bool:
    return run(["rpm", "-q", _label(key)]).rc == 0


def _label(key: RepositoryKey) -> str:
    try:
        return rpm_label(read_text(key.path) or "")
    except (ValueError, IndexError) as error:
        raise GaudiError(f"rpm cannot use the key in {key.path}: {error}; correct {key.option}.") from error


def import_into_rpm(key: RepositoryKey, run: Run) -> None:
    """Make the key one that rpm takes packages from."""
    done = run(["rpm", "--import", key.path])
    if done.rc != 0:
        reason = (done.stderr or done.stdout).strip() or "no reason given"
        raise GaudiError(f"rpm does not take the key in {key.path} (from {key.url}): {reason}; correct {key.option}.")
