# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where a registry lies, as the few things that a directory and a bucket both can do.

Below its place: ``keys/FINGERPRINT.pem``, ``models/NAME/versions/VERSION/…`` with the signature written last, and
``models/NAME/aliases/ALIAS/00000001.json`` and so on, one entry for each move.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from .files import Digesting


class Store(Protocol):
    """Files by their keys, such as ``keys/f00.pem``. Every method raises GaudiError where the place fails."""

    def address(self, key: str) -> str:
        """How an operator names it."""

    def names(self, folder: str) -> list[str]:
        """What lies directly in a folder, in order; nothing where there is none."""

    def below(self, folder: str) -> list[str]:
        """The paths of all files below a folder, relative to it, in order."""

    def read(self, key: str, most: int) -> bytes | None:
        """All of it; None where it is not there."""

    def opened(self, key: str) -> AbstractContextManager[BinaryIO]:
        """To read it from its beginning to its end."""

    def create(self, key: str, content: bytes) -> bool:
        """Write it as a whole, unless it is there: False then. Of many who try at once one has True."""

    def put(self, key: str, stream: Digesting) -> None:
        """Write it as a whole, also over what is there."""

    def remove(self, key: str) -> None:
        """It may be gone already."""


def key_of(fingerprint: str) -> str:
    return f"keys/{fingerprint}.pem"


def versions_of(name: str) -> str:
    return f"models/{name}/versions"


def folder_of(name: str, version: str) -> str:
    return f"{versions_of(name)}/{version}"


def alias_folder(name: str, alias: str) -> str:
    return f"models/{name}/aliases/{alias}"
