# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One apt repository of its own: its deb822 file, its package lists, and what apt says when it cannot read it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, ClassVar, Iterable, Iterator, Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import CommandResult, Run
from .._node.digests import file_digest
from .._node.rendered_files import FileChange, read_text
from . import apt_sources
from .debian_packages import query_packages
from .lock_holder import APT_LISTS, require_free
from .repository_keys import RepositoryKey

_LOCKED = re.compile(r"Could not get lock|Unable to lock")
_LOCK_POLL_S = 2.0


@dataclass(frozen=True)
class AptRepository:
    """Where the packages are (``uri`` + ``suite`` + ``components``) and what vouches for them (``key_path``).

    Where ``key_fingerprint`` is known no other key is taken, and where ``signed_files`` (URL to SHA-256) has key or
    ``InRelease``, no other file: an older index has a good signature, too.
    """

    uri: str
    suite: str
    components: tuple[str, ...]
    architectures: tuple[str, ...]
    key_url: str
    key_path: str
    sources_path: str
    key_fingerprint: str = ""
    signed_files: Mapping[str, str] = field(default_factory=dict)
    # What the sentences below call an option, and its name for a repository other than the vendor's.
    option_names: ClassVar[Sequence[tuple[str, str]]] = ()

    @property
    def index_url(self) -> str:
        """Where the signed index is."""
        return f"{self.uri}/dists/{self.suite}/InRelease"

    def __str__(self) -> str:
        return f"{self.uri} {self.suite} {' '.join(self.components)}"

    def render(self) -> str:
        """The text of :attr:`sources_path`."""
        return render_sources(self)

    def signing_keys(self) -> list[RepositoryKey]:
        """The one key, which signs the lists; the lists vouch for the packages."""
        return [
            RepositoryKey(
                self.key_url,
                self.key_path,
                "packages_url or key_url",
                fingerprint=self.key_fingerprint,
                sha256=self.signed_files.get(self.key_url, ""),
            )
        ]

    def others(self) -> list[FileChange]:
        """What other files of the node say of the same repository, switched off; see :mod:`.apt_sources`."""
        wanted = apt_sources.Wanted(self.sources_path, self.uri, self.suite, self.components)
        return apt_sources.switched_off(wanted)

    def refresh(self, run: Run, lock_timeout_s: float) -> None:
        """See :func:`refresh`. All sources are read first: what makes apt read none of them shows at once."""
        require_free(APT_LISTS, lock_timeout_s, str(Path(self.sources_path).parents[3]))
        require_readable(self, run)
        refresh(self, run, lock_timeout_s)
        require_index(self, run)

    def offered_versions(self, run: Run) -> dict[str, set[str]]:
        """See :func:`offered_versions`."""
        return offered_versions(self, run)

    def pinned(self, name: str, version: str) -> str:
        """The package at this version in apt's words."""
        return f"{name}={version}"

    def installed(self, pins: Mapping[str, str], run: Run) -> bool:
        """Whether dpkg has all of these packages, configured, and those with a version at this version."""
        found = query_packages(list(pins), run)
        return all(name in found and found[name].installed and pins[name] in ("", found[name].version) for name in pins)


def render_sources(repository: AptRepository) -> str:
    """The deb822 file (sources.list(5)).

    The key's URL is in it although apt does not need it: another URL is another text, and the key is fetched anew.
    """
    fields = {
        "Types": "deb",
        "URIs": repository.uri,
        "Suites": repository.suite,
        "Components": " ".join(repository.components),
        "Architectures": " ".join(repository.architectures),
        "Signed-By": repository.key_path,
    }
    head = f"# Written by gaudi3.scale. The key is from {repository.key_url}\n"
    return head + "".join(f"{name}: {value}\n" for name, value in fields.items())


def only(repository: AptRepository) -> list[str]:
    """apt's options that leave every other repository of the node unread and its lists in place."""
    return [
        "-o",
        f"Dir::Etc::sourcelist={repository.sources_path}",
        "-o",
        "Dir::Etc::sourceparts=-",
        "-o",
        "APT::Get::List-Cleanup=0",
    ]


def offered_versions(repository: AptRepository, run: Run) -> dict[str, set[str]]:
    """Package name to versions, from the lists that the last refresh left on the node; empty when there are none."""
    offered: dict[str, set[str]] = {}
    for path in _list_files(repository, run):
        for name, version in _stanzas(_list_text(path, run)):
            offered.setdefault(name, set()).add(version)
    return offered


def _list_files(repository: AptRepository, run: Run) -> list[str]:
    return _targets(repository, "$(FILENAME)", run)


def _targets(repository: AptRepository, form: str, run: Run) -> list[str]:
    lists = ["--format", form, "Created-By: Packages"]
    return run(["apt-get", "indextargets", *only(repository), *lists]).stdout.split("\n")[:-1]


def require_readable(repository: AptRepository, run: Run) -> None:
    """Have apt read all sources of the node, as each later call of it does; needs no network."""
    done = run(["apt-get", "indextargets", "--format", "$(SITE)"])
    complaints = _complaints(done)
    if done.rc == 0 or not complaints:
        return
    found = apt_sources.CONFLICT.search("\n".join(complaints))
    etc = Path(repository.sources_path).parent.parent
    files = apt_sources.files_of(etc, found["uri"], found["suite"]) if found else []
    named = f" Entries of it are in {' and '.join(files)}." if files else ""
    raise GaudiError(explain(repository, complaints) + named, repository=str(repository), apt=complaints, files=files)


def _complaints(done: CommandResult) -> list[str]:
    # Until apt 2.9 with a letter, since then in words.
    marks = ("E: ", "W: ", "Error: ", "Warning: ")
    return [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.startswith(marks)]


def require_index(repository: AptRepository, run: Run) -> None:
    """Have the index that apt took be the one that is meant, where that is known."""
    wanted = repository.signed_files.get(repository.index_url)
    if not wanted:
        return
    taken = {_index_file(target) for target in _targets(repository, "$(METAKEY) $(FILENAME)", run)}
    digests = {file_digest(Path(path), "sha256") for path in taken if Path(path).is_file()}
    if digests != {wanted}:
        raise GaudiError(
            f"{repository.index_url} is another one than the signed manifest names; "
            "somebody changed it since, or is copying a new bundle there: verify the bundle where it is served, and "
            "run again.",
            repository=str(repository),
        )


def _index_file(target: str) -> str:
    """``.../dists_jammy_InRelease`` beside ``.../dists_jammy_main_binary-amd64_Packages``, as apt names its lists."""
    key, _blank, path = target.partition(" ")
    return path.partition(f"_{key.replace('/', '_')}")[0] + "_InRelease"


def _list_text(path: str, run: Run) -> str:
    # Lists are kept compressed on nodes with Acquire::GzipIndexes, in a format that only apt is sure to read.
    if path.endswith("_Packages"):
        return read_text(path) or ""
    return run(["/usr/lib/apt/apt-helper", "cat-file", path]).stdout


def _stanzas(text: str) -> Iterator[tuple[str, str]]:
    name = ""
    for line in text.splitlines():
        if line.startswith("Package: "):
            name = line[len("Package: ") :]
        elif line.startswith("Version: "):
            yield name, line[len("Version: ") :]


def refresh(
    repository: AptRepository, run: Run, lock_timeout_s: float, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Fetch this repository's lists, and no other's. Waits while another apt holds the lists' lock."""
    # Without Error-Mode apt ends with 0 when it fell back on old lists (apt 2.2 and newer know the option).
    command = ["apt-get", "-q", "update", *only(repository), "-o", "APT::Update::Error-Mode=any"]
    retries = ["-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30"]
    deadline = time.monotonic() + lock_timeout_s
    while True:
        done = run([*command, *retries])
        complaints = _complaints(done)
        # DPkg::Lock::Timeout is for dpkg's lock; nothing in apt waits for the lock of the lists.
        if not _LOCKED.search("\n".join(complaints)) or time.monotonic() >= deadline:
            break
        sleep(_LOCK_POLL_S)
    if done.rc != 0:
        raise GaudiError(explain(repository, complaints), repository=str(repository), apt=complaints)


def explain(repository: AptRepository, complaints: Iterable[str]) -> str:
    """apt's error and warning lines as one sentence with a remedy."""
    text = "\n".join(complaints)
    for pattern, cause, remedy in _CAUSES:
        found = re.search(pattern, text)
        if found:
            words = {**vars(repository), "components": " ".join(repository.components), **found.groupdict()}
            what_to_do = _remedy(repository, remedy.format(**words))
            return f"The package repository {repository} {cause.format(**words)}; {what_to_do}."
    first = text.partition("\n")[0].partition(": ")[2] or "apt-get update failed without a message."
    return f"The package repository {repository} cannot be read: {first}"


def _remedy(repository: AptRepository, text: str) -> str:
    for name, own in repository.option_names:
        text = text.replace(name, own)
    return text


# In the order of trust: a repository that cannot be reached or is not there has no signature to judge.
_CAUSES = (
    (
        apt_sources.CONFLICT.pattern,
        "cannot be used: apt reads no source of this node while two entries of {uri} {suite} differ in {option}",
        "leave one of them, in {sources_path} or in another file of /etc/apt/sources.list.d or /etc/apt/sources.list",
    ),
    (
        r"(?P<said>(?:Malformed|Type ')[^\n]* in (?:list file|source list) (?P<file>/\S+)[^\n]*)",
        "cannot be used: apt reads no source of this node, since one of its files is wrong ({said})",
        "correct {file}",
    ),
    (
        _LOCKED.pattern,
        "cannot be refreshed: another package manager holds apt's lock",
        "wait for it, or raise lock_timeout",
    ),
    (
        r"[Cc]ertificate verification failed|certificate.*(NOT trusted|not trusted|issuer)",
        "is served with a certificate that this node does not trust",
        "install the site's CA certificate (and ca-certificates) on this node",
    ),
    (
        r"Could not (resolve|connect)|ailure resolving|onnection (refused|timed out|failed)|Unable to connect",
        "cannot be reached",
        "check this node's DNS, route and proxy, or set packages_url (or repository_url) to a mirror that it reaches",
    ),
    (r" 40[137]  ", "refuses this node", "let it through there, or give apt the credentials in /etc/apt/auth.conf.d/"),
    (
        r"is not valid yet|Release file .* expired|(EXPKEY|EXP)SIG",
        "has a signature that is not valid at this node's time of day",
        "check the node's clock, then whether the repository or its key has expired",
    ),
    (
        r"Clearsigned file isn't valid|NOSPLIT",
        "does not return a package repository",
        "look at {uri}/dists/{suite}/InRelease from this node (a proxy's login page?) and correct repository_url",
    ),
    (
        r"NO_PUBKEY|BADSIG|REVKEYSIG|signatures? (couldn't be verified|were invalid|verification)|is not signed",
        "is not signed by the key in {key_path} (from {key_url})",
        "check packages_url, repository_url and key_url; if the site changed its key, remove {key_path} and run again",
    ),
    (
        r"does not have a Release file",
        "does not exist: {uri}/dists/{suite}/Release is not there",
        "correct packages_url, repository_url or suite",
    ),
    (r" 5\d\d  ", "is unavailable: its server returns an error", "try again later"),
    (r"doesn't have the component", "lacks a component of '{components}'", "correct components"),
    (
        r"Hash Sum mismatch|unexpected size|Mirror sync in progress",
        "is in the middle of an update or damaged",
        "try again later, or have the mirror synchronized",
    ),
)
