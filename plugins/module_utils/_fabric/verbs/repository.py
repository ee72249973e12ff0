# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The site's repository of DOCA or MOFED as a package repository of the node, with its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Sequence, Union

from ..._errors import GaudiError
from ..._node.commands import Run
from ..._node.os_release import DNF, package_manager
from ..._node.rendered_files import FileChange, WantedFile, differences, pending, write
from ..._node.urls import checked_url
from ..._packages import apt_sources, dnf_sources
from ..._packages.apt_repository import AptRepository
from ..._packages.dnf_repository import DnfRepository
from ..._packages.fingerprints import checked_fingerprint
from ..._packages.package_repository import put_back
from ..._packages.repository_keys import RepositoryKey, import_into_rpm, unknown_to_rpm
from ..._packages.repository_words import checked_words

NAME = "gaudi3_scale-ofed"
URL, KEY_URL, SUITE = "gaudi_fabric_ofed_repository", "gaudi_fabric_ofed_key_url", "gaudi_fabric_ofed_suite"
# A directory that is a repository by itself, as the vendor's are; sources.list(5) calls it an exact path.
FLAT = "./"
# The longest first: each is a part of the one before.
_NAMES = (
    ("packages_url (or repository_url)", URL),
    ("packages_url, repository_url", URL),
    ("packages_url or repository_url", URL),
    ("repository_url", URL),
    ("packages_url", URL),
    ("key_url", KEY_URL),
    ("or suite", f"or {SUITE}"),
    ("or set suite to the directory of a minor release that the repository has", "to a directory with repodata"),
)


@dataclass(frozen=True)
class OfedRepository:
    """What the operator says of it. An empty ``url`` is none; ``suite`` and ``components`` are for apt."""

    url: str = ""
    suite: str = FLAT
    components: Sequence[str] = ()
    key_url: str = ""
    key_fingerprint: str = ""
    plain_http_hosts: Sequence[str] = ()
    lock_timeout: float = 300.0


class OfedApt(AptRepository):
    """For apt; ``suite`` ``./`` is a directory without suites, which has no components."""

    option_names: ClassVar[Sequence[tuple[str, str]]] = _NAMES

    @property
    def index_url(self) -> str:
        return f"{self.uri}/InRelease" if self.suite == FLAT else super().index_url

    def render(self) -> str:
        lines = super().render().splitlines(keepends=True)
        return "".join(line for line in lines if line != "Components: \n")

    def signing_keys(self) -> list[RepositoryKey]:
        return [RepositoryKey(self.key_url, self.key_path, KEY_URL, fingerprint=self.key_fingerprint)]


class OfedDnf(DnfRepository):
    """For dnf: the packages are signed, the metadata of the vendor's repositories is not."""

    option_names: ClassVar[Sequence[tuple[str, str]]] = _NAMES

    def render(self) -> str:
        return (
            f"# Written by gaudi3.scale. The packages' key is from {self.package_key_url}\n[{self.identifier}]\n"
            f"name=Drivers of the host's network cards\nbaseurl={self.uri}\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=0\n"
            f"gpgkey=file://{self.package_key_path}\n"
        )

    def signing_keys(self) -> list[RepositoryKey]:
        fingerprint = self.package_key_fingerprint
        return [RepositoryKey(self.package_key_url, self.package_key_path, KEY_URL, True, fingerprint)]


Repository = Union[OfedApt, OfedDnf]


def planned(options: OfedRepository, architecture: str, etc: str = "/etc") -> Repository:
    """The node's repository of ``options``; raises GaudiError for what cannot be in its file."""
    url = checked_url(URL, options.url, options.plain_http_hosts)
    if not options.key_url:
        raise GaudiError(f"{KEY_URL} is empty; give the URL of the public key that signs {url}.")
    key_url = checked_url(KEY_URL, options.key_url, options.plain_http_hosts)
    fingerprint = checked_fingerprint("gaudi_fabric_ofed_key_fingerprint", options.key_fingerprint)
    if package_manager(etc) == DNF:
        path = f"{etc}/pki/rpm-gpg/RPM-GPG-KEY-{NAME}"
        sources = f"{etc}/yum.repos.d/{NAME}.repo"
        return OfedDnf(NAME, url, key_url, path, key_url, path, sources, package_key_fingerprint=fingerprint)
    _check_suite(options)
    return OfedApt(
        uri=url,
        suite=options.suite,
        components=tuple(options.components),
        architectures=(architecture,),
        key_url=key_url,
        key_path=f"{etc}/apt/keyrings/{NAME}.asc",
        sources_path=f"{etc}/apt/sources.list.d/{NAME}.sources",
        key_fingerprint=fingerprint,
    )


def _check_suite(options: OfedRepository) -> None:
    if options.suite == FLAT:
        if options.components:
            raise GaudiError(
                f"gaudi_fabric_ofed_components is given and {SUITE} is {FLAT}, which has none; give one of both."
            )
        return
    checked_words("suite", [options.suite])
    checked_words("components", options.components)
    if not options.components:
        raise GaudiError(
            f"{SUITE} is {options.suite!r:.80} and gaudi_fabric_ofed_components is empty; name them, as main."
        )


def leftovers(etc: str) -> list[FileChange]:
    """What an earlier choice left on the node: the repository's file, its key, and what of others is switched off."""
    apt, dnf = f"{etc}/apt/sources.list.d/{NAME}.sources", f"{etc}/yum.repos.d/{NAME}.repo"
    paths = (apt, f"{etc}/apt/keyrings/{NAME}.asc", dnf, f"{etc}/pki/rpm-gpg/RPM-GPG-KEY-{NAME}")
    gone = pending([WantedFile(path, None) for path in paths])
    return [*gone, *apt_sources.given_back(apt), *dnf_sources.given_back(dnf)]


def register(repository: Repository, run: Run, check_mode: bool, lock_timeout: float) -> list[dict[str, str]]:
    """Make it one of the node's; returns the differences. On any failure the files are as they were."""
    sources = pending([WantedFile(repository.sources_path, repository.render())])
    stale = [key for key in repository.signing_keys() if sources or not key.is_there()]
    texts = {key.path: key.placeholder() if check_mode else key.text() for key in stale}
    changes = [*pending([WantedFile(path, text) for path, text in texts.items()]), *sources, *repository.others()]
    unknown = unknown_to_rpm([key for key in repository.signing_keys() if key not in stale], run)
    if not check_mode and (changes or unknown):
        _apply(repository, changes, run, lock_timeout)
    return differences(changes)


def _apply(repository: Repository, changes: Sequence[FileChange], run: Run, lock_timeout: float) -> None:
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            write(change)
        # rpm takes no package whose key it does not know, and dnf reads the metadata of unsigned ones without.
        repository.refresh(run, lock_timeout)
        for key in unknown_to_rpm(repository.signing_keys(), run):
            import_into_rpm(key, run)
    except BaseException:
        for change in done:
            put_back(change)
        raise


def remove(changes: Sequence[FileChange]) -> None:
    """Take the leftovers away."""
    for change in changes:
        write(change)
