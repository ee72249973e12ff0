# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One dnf repository of its own: its .repo file, its metadata, and what dnf says when it cannot read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Iterable, Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import FileChange
from . import dnf_sources
from .dnf_command import LOCKED_RC, complaints, run_dnf
from .lock_holder import DNF_LISTS, require_free
from .repository_keys import RepositoryKey
from .rpm_database import plain_version, rpm_name
from .rpm_packages import Dnf

# Plugins cost time, and versionlock hides what it does not allow.
_BARE = ("--noplugins",)


@dataclass(frozen=True)
class DnfRepository:
    """Where the packages are (``uri``) and what vouches for them: one key for the metadata, one for the packages.

    Where a fingerprint is known no other key is taken, and where ``signed_files`` (URL to SHA-256) has it, no other
    file.
    """

    identifier: str
    uri: str
    key_url: str
    key_path: str
    package_key_url: str
    package_key_path: str
    sources_path: str
    key_fingerprint: str = ""
    package_key_fingerprint: str = ""
    signed_files: Mapping[str, str] = field(default_factory=dict)
    # What the sentences below call an option, and its name for a repository other than the vendor's.
    option_names: ClassVar[Sequence[tuple[str, str]]] = ()

    def __str__(self) -> str:
        return self.uri

    def render(self) -> str:
        """The text of :attr:`sources_path`."""
        return render_repository(self)

    def signing_keys(self) -> list[RepositoryKey]:
        """dnf reads the metadata's key where the file names it; rpm has a list of its own for those of packages."""
        return [
            RepositoryKey(
                self.key_url,
                self.key_path,
                "packages_url, suite or key_url",
                fingerprint=self.key_fingerprint,
                sha256=self.signed_files.get(self.key_url, ""),
            ),
            RepositoryKey(
                self.package_key_url,
                self.package_key_path,
                "packages_url or package_key_url",
                in_rpm=True,
                fingerprint=self.package_key_fingerprint,
                sha256=self.signed_files.get(self.package_key_url, ""),
            ),
        ]

    def others(self) -> list[FileChange]:
        """Other repositories of the node with the same base URL, disabled; see :mod:`.dnf_sources`."""
        return dnf_sources.switched_off(self.sources_path, self.uri)

    def refresh(self, run: Run, lock_timeout_s: float) -> None:
        """See :func:`refresh`."""
        require_free(DNF_LISTS, lock_timeout_s, str(Path(self.sources_path).parents[2]))
        refresh(self, run, lock_timeout_s)

    def offered_versions(self, run: Run) -> dict[str, set[str]]:
        """See :func:`offered_versions`."""
        return offered_versions(self, run)

    def pinned(self, name: str, version: str) -> str:
        """The package at this version in dnf's words."""
        return f"{rpm_name(name)}-{version}.*"

    def installed(self, pins: Mapping[str, str], run: Run) -> bool:
        """Whether rpm has all of these packages, those with a version at this version."""
        found = Dnf(run).query(list(pins))
        return all(name in found and found[name].installed and pins[name] in ("", found[name].version) for name in pins)


def render_repository(repository: DnfRepository) -> str:
    """The .repo file (dnf.conf(5)).

    The keys' URLs are in it although dnf reads the files: another URL is another text, and the keys are fetched anew.
    """
    fields = {
        "name": "Gaudi package repository",
        "baseurl": repository.uri,
        "enabled": "1",
        "gpgcheck": "1",
        "repo_gpgcheck": "1",
        "gpgkey": f"file://{repository.key_path}\n       file://{repository.package_key_path}",
    }
    head = (
        f"# Written by gaudi3.scale. The metadata's key is from {repository.key_url}\n"
        f"# The packages' key is from {repository.package_key_url}\n[{repository.identifier}]\n"
    )
    return head + "".join(f"{name}={value}\n" for name, value in fields.items())


def _only(repository: DnfRepository) -> list[str]:
    """dnf's options that leave every other repository of the node unread."""
    return [*_BARE, "--repo", repository.identifier]


def offered_versions(repository: DnfRepository, run: Run) -> dict[str, set[str]]:
    """Package name to versions, from the metadata that the last refresh left on the node; empty when there is none."""
    listing = run(["dnf", "-q", "-C", *_only(repository), "list", "--showduplicates", "--available"])
    return parse_listing(listing.stdout, repository.identifier)


def parse_listing(text: str, identifier: str) -> dict[str, set[str]]:
    """The rows of ``dnf list`` from one repository; dnf breaks a row that is too long for it."""
    offered: dict[str, set[str]] = {}
    words = text.split()
    for name, version, source in zip(words, words[1:], words[2:]):
        if source == identifier and "." in name:
            known = name.rpartition(".")[0]
            offered.setdefault(known, set()).add(plain_version(version.rpartition(":")[2]))
    return offered


def refresh(repository: DnfRepository, run: Run, lock_timeout_s: float) -> None:
    """Fetch this repository's metadata, and no other's. Waits while another dnf holds the metadata's lock."""
    # dnf keeps the metadata's key in a list of its own and asks before it takes a key into it: -y.
    strict = ["-y", "--setopt=skip_if_unavailable=0", "--setopt=retries=2", "--setopt=timeout=30"]
    done = run_dnf(run, [*strict, *_only(repository), "makecache", "--refresh"], lock_timeout_s)
    if done.rc == LOCKED_RC:
        raise GaudiError(
            f"The package repository {repository} cannot be refreshed: another package manager holds dnf's lock; "
            "wait for it, or raise lock_timeout.",
            repository=str(repository),
        )
    if done.rc != 0:
        said = complaints(done)
        raise GaudiError(explain(repository, said), repository=str(repository), dnf=said)


def explain(repository: DnfRepository, said: Iterable[str]) -> str:
    """dnf's error lines as one sentence with a remedy."""
    text = "\n".join(said)
    for pattern, cause, remedy in _CAUSES:
        if re.search(pattern, text):
            words = vars(repository)
            what_to_do = _remedy(repository, remedy.format(**words))
            return f"The package repository {repository} {cause.format(**words)}; {what_to_do}."
    lines = [line.partition("Error: ")[2] for line in text.splitlines() if line.startswith("Error: ")]
    first = next(iter(lines), text.partition("\n")[0]) or "dnf makecache failed without a message."
    return f"The package repository {repository} cannot be read: {first}"


def _remedy(repository: DnfRepository, text: str) -> str:
    for name, own in repository.option_names:
        text = text.replace(name, own)
    return text


# The first that fits counts: dnf's last line is the same for most of them.
_CAUSES = (
    (
        r"GPG signature is not available",
        "is not signed: {uri}/repodata/repomd.xml.asc is not there",
        "have the mirror carry it with the rest of the directory, or correct repository_url",
    ),
    (
        r"gpgme_op_verify\(\) error: No data|repomd\.xml parser error|not well-formed|StartTag",
        "does not return a package repository",
        "look at {uri}/repodata/repomd.xml from this node (a proxy's login page?) and correct repository_url",
    ),
    (
        r"GPG signature verification error|[Ss]igning key not found",
        "is not signed by the key in {key_path} (from {key_url}), or this node's clock is before the signature",
        "check the clock, packages_url and key_url; if the site did change its key, remove {key_path} and run again",
    ),
    (
        r"Curl error \((51|58|60|77|83)\)|certificate",
        "is served with a certificate that this node does not trust",
        "install the site's CA certificate in /etc/pki/ca-trust/source/anchors and run update-ca-trust",
    ),
    (
        r"Curl error \((5|6|7|28|35|52|56)\)",
        "cannot be reached",
        "check this node's DNS, route and proxy, or set packages_url (or repository_url) to a mirror that it reaches",
    ),
    (
        r"Status code: 40[137] ",
        "refuses this node",
        "let it through there, or give dnf the credentials (username and password in /etc/dnf/dnf.conf)",
    ),
    (
        r"checksum doesn't match|Downloading error\(s\): ",
        "is in the middle of an update or damaged",
        "try again later, or have the mirror synchronized",
    ),
    (
        r"(Status code: 404 |Curl error \(37\)).*repomd\.xml",
        "does not exist: {uri}/repodata/repomd.xml is not there",
        "correct packages_url or repository_url, or set suite to the directory of a minor release that it has",
    ),
    (r"Status code: 5\d\d ", "is unavailable: its server returns an error", "try again later"),
)
