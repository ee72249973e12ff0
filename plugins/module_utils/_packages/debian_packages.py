# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""apt and dpkg of a node, as :class:`PackageSystem` has them."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Callable, Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import CommandResult, Run
from .apt_causes import explain_unmet
from .package_system import Package, keep_file

_FIELDS = "${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n"
# dpkg's words for a package that an interrupted transaction left (dpkg-query(1)).
_HALF_WAY = ("half-installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending")
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l", "APT_LISTCHANGES_FRONTEND": "none"}
_KEEP_CHANGED_FILES = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
# dpkg has no option to wait for its lock, and apt-mark gives DPkg::Lock::Timeout to nobody.
_LOCKED = re.compile(r"lock was locked by another process|Could not get lock|Unable to acquire the dpkg frontend lock")
_LOCK_S, _LOCK_POLL_S = 300.0, 2.0
# Changes the directory first: apt-get download has no option for where it puts the files.
_DOWNLOAD = 'cd "$1" && shift && exec apt-get -q download "$@"'


def parse_packages(text: str) -> dict[str, Package]:
    """``dpkg-query -W`` in the format of this file; of two architectures the installed one counts."""
    packages: dict[str, Package] = {}
    for line in text.splitlines():
        name, version, want, status = line.split("\t")
        package = Package(name, version, want == "hold", status)
        if name not in packages or package.installed:
            packages[name] = package
    return packages


def query_packages(names: Sequence[str], run: Run) -> dict[str, Package]:
    """The packages of ``names`` that dpkg has ever heard of; empty on a node without dpkg."""
    # dpkg-query ends with 1 when one of the names is unknown; the others are printed all the same.
    return parse_packages(run(["dpkg-query", "-W", "-f", _FIELDS, *names]).stdout) if names else {}


class Apt:
    """The node's apt."""

    name = "apt"

    def __init__(self, run: Run, root: str = "/") -> None:
        self._run = run
        self._root = root

    def query(self, names: Sequence[str]) -> dict[str, Package]:
        """See :class:`PackageSystem`."""
        return query_packages(names, self._run)

    def broken(self) -> list[str]:
        """See :class:`PackageSystem`."""
        every = parse_packages(self._run(["dpkg-query", "-W", "-f", _FIELDS]).stdout)
        return sorted(name for name, package in every.items() if package.status in _HALF_WAY)

    def interrupted(self) -> bool:
        """See :class:`PackageSystem`. apt's own test: the journal of a dpkg that did not come to its end."""
        return any(name.name.isdecimal() for name in Path(self._root, "var/lib/dpkg/updates").glob("*"))

    def repair(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`. What cannot be configured now is left to the transaction that replaces it."""
        which = ["-a"] if self.interrupted() or not names else list(names)
        self._run(["dpkg", "--force-confdef", "--force-confold", "--configure", *which], env=_QUIET)

    def refresh(self, lock_timeout: float) -> None:
        """Read all package lists. A repository that cannot be read is no reason to stop: the others may do."""
        self._run(["apt-get", "-q", "update", "-o", f"DPkg::Lock::Timeout={lock_timeout:.0f}"])

    def fetch(self, pins: Mapping[str, str], directory: str) -> list[str]:
        """See :class:`PackageSystem`."""
        missing = {name: version for name, version in pins.items() if not _file(directory, name, version)}
        if missing:
            # What a power cut leaves of a download lies in a directory of its own and is never taken for a package.
            partial = Path(directory, "partial")
            partial.mkdir(parents=True, exist_ok=True)
            asked = [f"{name}={version}" for name, version in missing.items()]
            done = self._run(["sh", "-c", _DOWNLOAD, "sh", str(partial), *asked])
            if done.rc != 0:
                raise GaudiError(f"The packages {', '.join(asked)} cannot be fetched: {_reason(done)}")
            # Only what was asked for now is whole for sure.
            found = [_file(str(partial), name, version) for name, version in missing.items()]
            for file in filter(None, found):
                keep_file(file, directory)
        files = {name: _file(directory, name, version) for name, version in pins.items()}
        lost = sorted(name for name, file in files.items() if file is None)
        if lost:
            raise GaudiError(f"apt-get download succeeded but left no file of {', '.join(lost)} in {directory}.")
        return [file for file in files.values() if file]

    def prepare(self, requests: Sequence[str], lock_timeout: float) -> None:
        """See :class:`PackageSystem`."""
        self._install(requests, lock_timeout, "--download-only")

    def install(self, requests: Sequence[str], lock_timeout: float) -> None:
        """See :class:`PackageSystem`. Never removes a package: apt then says which one is in the way."""
        self._install(requests, lock_timeout)

    def _install(self, requests: Sequence[str], lock_timeout: float, *last: str) -> None:
        options = ["-y", "-q", "--no-install-recommends", "--no-remove", "--allow-downgrades"]
        names = [Path(request).name.partition("_")[0] for request in requests]
        # A package that lost files gets them back. Of one that is half way apt knows no file to reinstall ("Internal
        # Error, No file name for"), and finishes it without being asked.
        if not any(package.status in _HALF_WAY for package in self.query(names).values()):
            options.append("--reinstall")
        waiting = ["--allow-change-held-packages", "-o", f"DPkg::Lock::Timeout={lock_timeout:.0f}"]
        # Without a time limit: a package manager that is killed leaves packages half way.
        command = ["apt-get", *options, *waiting, *_KEEP_CHANGED_FILES, "install", *requests, *last]
        done = self._run(command, env=_QUIET)
        if done.rc != 0:
            # What apt says goes first to one stream, then to the other.
            lacking = explain_unmet(f"{done.stdout}\n{done.stderr}", self._alone, self._root)
            reason = lacking or _reason(done)
            raise GaudiError(f"The packages cannot be installed: {reason}", output=done.stdout.splitlines()[-20:])

    def _alone(self, request: str) -> str:
        """What apt says of one package alone."""
        done = self._run(["apt-get", "-q", "--simulate", "--no-install-recommends", "--no-remove", "install", request])
        return f"{done.stdout}\n{done.stderr}"

    def hold(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`."""
        mark("hold", names, self._run)

    def unhold(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`."""
        mark("unhold", names, self._run)


def mark(word: str, names: Sequence[str], run: Run, sleep: Callable[[float], None] = time.sleep) -> None:
    """``apt-mark hold`` or ``apt-mark unhold`` for ``names``; waits while another package manager works."""
    waited = 0.0
    while True:
        done = run(["apt-mark", word, *names])
        if done.rc == 0 or waited >= _LOCK_S or not _LOCKED.search(done.stderr + done.stdout):
            break
        sleep(_LOCK_POLL_S)
        waited += _LOCK_POLL_S
    if done.rc != 0:
        raise GaudiError(f"apt-mark {word} {' '.join(names)} failed: {_reason(done)}")


def _file(directory: str, name: str, version: str) -> str | None:
    # apt writes the colon of an epoch as %3a.
    found = sorted(Path(directory).glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))
    return str(found[0]) if found else None


_HELD = re.compile(
    r"(?:Could not get lock \S+ It is held by process|lock was locked by another process with pid) (?P<pid>\d+)"
    r"(?: \((?P<program>\S+)\))?"
)


def _reason(done: CommandResult) -> str:
    """apt's first error; dpkg's summary ("returned an error code") says less than the line before it."""
    held = _HELD.search(f"{done.stderr}\n{done.stdout}")
    if held:
        return f"{held[0]}; wait for it to finish, or raise lock_timeout."
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E: ", "dpkg: error", "Error:"))]
    telling = [line for line in errors if "returned an error code" not in line]
    text = next(iter([*telling, *errors, *lines[-1:]]), "no reason given")
    if text.endswith(":") and text != lines[-1]:
        # "dpkg: error processing package x (--configure):", and what is wrong with it in the next line.
        text = f"{text} {lines[lines.index(text) + 1]}"
    return text.rstrip(".") + "."
