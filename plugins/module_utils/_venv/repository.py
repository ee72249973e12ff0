# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an installation asks of a repository that is a bundle of signed files; the bundle is another subject's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .._node.commands import Run


class Site(Protocol):
    """A package repository whose signature was verified."""

    @property
    def packages_url(self) -> str:
        """Its address, without a slash at its end."""

    @property
    def is_bundle(self) -> bool:
        """Whether its files are signed."""

    @property
    def index_url(self) -> str:
        """Its own index for pip; empty where it has none."""

    @property
    def wheels(self) -> Mapping[str, str]:
        """URL to checksum of what pip may take."""

    def checksum(self, url: str) -> str:
        """``sha256:...`` of the file at this URL; empty where it is not there."""


@dataclass(frozen=True)
class Repository:
    """``recorded`` is what an earlier run verified at an address, ``fresh`` asks for it again, and locks of
    this node lie in ``directory``.
    """

    directory: str
    recorded: Callable[[str], Site | None]
    fresh: Callable[[str, Run], Site | None]
