# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node knows of its vault: whether it is a bundle, and what the bundle has beside the vendor's packages.

The vault is asked for a small document when its package lists are read, and the answer is kept on the node. So every
later run, and every role, knows without the network where the distribution's packages and the pip index are.
"""

from __future__ import annotations

import json
import urllib.error
from dataclasses import dataclass, field
from typing import Mapping

from ..errors import GaudiError
from ..node.downloads import fetch
from ..node.rendered_files import WantedFile, pending, read_text, write
from .plan import SITE

RECORD = "/var/lib/gaudi3_scale/vault.json"
# The vendor's own vault is none, and need not be asked.
VENDOR = "https://vault.habana.ai/"


@dataclass(frozen=True)
class Site:
    """What the vault answered. Everything is empty where it is no bundle."""

    vault_url: str
    document: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_bundle(self) -> bool:
        """Whether the vault is a bundle of this collection's making."""
        return bool(self.document)

    @property
    def index_url(self) -> str:
        """The bundle's pip index, empty where it has none."""
        index = str(self.document.get("index") or "")
        return f"{self.vault_url}/{index}" if index else ""

    @property
    def releases(self) -> list[str]:
        """The versions of the vendor's packages in the bundle."""
        releases = self.document.get("releases")
        return [str(release) for release in releases] if isinstance(releases, list) else []

    def lacks(self, release: str) -> bool:
        """Whether this is a bundle without the packages of that version."""
        return self.is_bundle and bool(release) and release not in self.releases

    @property
    def suites(self) -> Mapping[str, str]:
        """Code name to the checksum of that index: the distributions whose packages the bundle has."""
        return _strings(self.document.get("suites"))

    def checksum(self, url: str) -> str:
        """``sha256:...`` of the PyTorch archive at this URL, empty where the bundle does not tell."""
        digits = _strings(self.document.get("pytorch")).get(url.replace(f"{self.vault_url}/", "", 1), "")
        return f"sha256:{digits}" if digits else ""


def _strings(value: object) -> dict[str, str]:
    return {str(key): str(entry) for key, entry in value.items()} if isinstance(value, dict) else {}


def recorded(vault_url: str, record: str = RECORD) -> Site | None:
    """What an earlier run learnt of this vault; None where none did."""
    try:
        data = json.loads(read_text(record) or "")
        if data["vault_url"] != vault_url.rstrip("/"):
            return None
        return Site(data["vault_url"], dict(data["bundle"] or {}))
    except (ValueError, TypeError, KeyError):
        return None


def ask(vault_url: str) -> Site:
    """Ask the vault. One that does not have the document is no bundle; one that cannot be reached is an error."""
    vault, url = vault_url.rstrip("/"), f"{vault_url.rstrip('/')}/{SITE}"
    if url.startswith(VENDOR):
        return Site(vault)
    try:
        data = json.loads(fetch(url, "What the vault has", "vault_url"))
        return Site(vault, data) if isinstance(data, dict) and data.get("format") == 1 else Site(vault)
    except ValueError:
        return Site(vault)  # Some servers answer everything with a page.
    except GaudiError as error:
        cause = error.__cause__
        absent = isinstance(cause, urllib.error.HTTPError) and cause.code < 500
        if absent or isinstance(getattr(cause, "reason", None), FileNotFoundError):
            return Site(vault)
        raise


def keep(site: Site, record: str = RECORD) -> None:
    """Write down what the vault answered."""
    document = {"vault_url": site.vault_url, "bundle": dict(site.document)}
    for change in pending([WantedFile(record, json.dumps(document, indent=1, sort_keys=True) + "\n")]):
        write(change)
