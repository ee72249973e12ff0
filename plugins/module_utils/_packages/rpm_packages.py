# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""dnf and rpm of a node, as :class:`PackageSystem` has them."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .dnf_command import complaints, explain, missing_command, run_dnf
from .package_system import Package
from .rpm_database import (
    DEBIAN_NAMES,
    FORMAT,
    RPM_NAMES,
    VENDOR,
    InstalledRpm,
    as_asked,
    label_name,
    newest_first,
    parse_installed,
    plain_version,
    rpm_name,
    surplus,
)
from .rpm_download import fetch
from .version_locks import lock_entry, read_locks

_DRIVER = RPM_NAMES["habanalabs-dkms"]
_NEEDED = re.compile(r"^\s*(.+) is needed by \(installed\) (\S+)$", re.MULTILINE)
_SCRIPT_FAILED = re.compile(r"^(?:warning|error): (%\w+\(\S+\) scriptlet failed, .*)$", re.MULTILINE)
_OPTIONS = ("--setopt=install_weak_deps=0", "--setopt=localpkg_gpgcheck=1")
LOCK_PLUGIN = "python3-dnf-plugin-versionlock"


class Dnf:
    """The node's dnf. ``root`` is where its configuration is read."""

    name = "dnf"

    def __init__(self, run: Run, root: str = "/") -> None:
        self._run = run
        self._root = root

    def query(self, names: Sequence[str]) -> dict[str, Package]:
        """See :class:`PackageSystem`."""
        return as_asked(names, self._installed(names), read_locks(self._root)) if names else {}

    def _installed(self, names: Sequence[str]) -> list[InstalledRpm]:
        globs = [name for name in names if set(name) & set("*?[")]
        # A glob over Debian's names can mean a package that RHEL calls otherwise.
        renamed = [rpm for debian, rpm in RPM_NAMES.items() if any(fnmatch.fnmatch(debian, glob) for glob in globs)]
        exact = [*renamed, *(rpm_name(name) for name in names if name not in globs)]
        found = self._rpm("-qa", globs) if globs else []
        found += self._rpm("-q", exact) if exact else []
        return list(dict.fromkeys(found))

    def _rpm(self, verb: str, names: Sequence[str]) -> list[InstalledRpm]:
        # rpm -q ends with the number of names that are not installed; the others are printed all the same.
        return parse_installed(self._run(["rpm", verb, "--queryformat", FORMAT, *names]).stdout)

    def broken(self) -> list[str]:
        """See :class:`PackageSystem`. Only the vendor's packages are looked at.

        Broken is a package of which two versions are installed, or that needs something that is not.
        """
        ours = self._rpm("-qa", [f"{VENDOR}*"])
        names = {old.name for old in surplus(ours)} | {label_name(label) for _what, label in self._needs(ours)}
        return sorted(DEBIAN_NAMES.get(name, name) for name in names)

    def _needs(self, packages: Sequence[InstalledRpm]) -> list[tuple[str, str]]:
        """What installed packages lack, each with the label of the package."""
        if not packages:
            return []
        labels = [package.label for package in packages]
        return _NEEDED.findall(self._run(["rpm", "-V", "--nofiles", "--noscripts", *labels]).stdout)

    def interrupted(self) -> bool:
        """See :class:`PackageSystem`. dnf works on, whatever an interrupted transaction left."""
        return False

    def repair(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`.

        An old version beside the new one is erased, which is what the interrupted transaction had left to do; then what
        the packages lack is installed.
        """
        self._erase_surplus(names)
        ours = [package for package in self._installed(names) if package.name.startswith(VENDOR)]
        lacking = list(dict.fromkeys(what for what, _label in self._needs(ours)))
        if lacking:
            self._transaction(lacking, 0.0)

    def _erase_surplus(self, names: Sequence[str]) -> None:
        old = surplus(self._installed(names))
        if not old:
            return
        labels = [package.label for package in old]
        # Not dnf remove --duplicates: that fetches the new version again, and looks at every package of the node.
        done = self._run(["rpm", "-e", "--nodeps", *labels])
        if done.rc != 0:
            reason = done.stderr.strip() or "rpm gives no reason"
            raise GaudiError(f"{', '.join(labels)}, left by an interrupted transaction, cannot be erased: {reason}.")

    def refresh(self, lock_timeout: float) -> None:
        """Read all package lists. A repository that cannot be read is no reason to stop: the others may do."""
        run_dnf(self._run, ["-y", "--setopt=skip_if_unavailable=1", "makecache"], lock_timeout)

    def fetch(self, pins: Mapping[str, str], directory: str) -> list[str]:
        """See :class:`PackageSystem`."""
        return fetch(pins, directory, self._run)

    def prepare(self, requests: Sequence[str], lock_timeout: float) -> None:
        """See :class:`PackageSystem`."""
        wanted = self._not_there(requests)
        if wanted:
            self._transaction(wanted, lock_timeout, "--downloadonly")

    def install(self, requests: Sequence[str], lock_timeout: float) -> None:
        """See :class:`PackageSystem`. Never removes a package: dnf then says which one is in the way.

        dnf lets a package file pass whatever is held, and what was held is then held at its new version.
        """
        names = self._file_names([request for request in requests if "/" in request])
        self._erase_surplus(names)
        again = self._installed_files(requests)
        wanted = [request for request in self._not_there(requests) if request not in again]
        if wanted:
            self._take_out_other_builds(wanted)
            self._transaction(wanted, lock_timeout)
        self._reinstall(again, lock_timeout)
        locked = {lock.name for lock in read_locks(self._root)}
        moved = [name for name in names if rpm_name(name) in locked]
        if moved:
            self.hold(moved)

    def _reinstall(self, files: Sequence[str], lock_timeout: float) -> None:
        """Give packages their files back; to dnf install they are installed already.

        After the driver's new script, which builds it, rpm runs the old one's, which takes the build of this very
        version out again. Without its scripts DKMS keeps what it has.
        """
        for mine, options in ((False, ()), (True, ("--setopt=tsflags=noscripts",))):
            some = [file for file in files if _is_driver(file) == mine]
            if some:
                self._transaction(some, lock_timeout, *options, verb="reinstall")

    def _not_there(self, requests: Sequence[str]) -> list[str]:
        """The requests without the names of installed packages, of which dnf would take the newest version."""
        named = [request for request in requests if "/" not in request]
        there = self.query(named)
        return [rpm_name(request) for request in requests if request not in there]

    def _installed_files(self, requests: Sequence[str]) -> list[str]:
        """The package files of exactly the versions that are installed."""
        files = [request for request in requests if "/" in request]
        labels = [package.label for package in self._rpm("-q", list(map(rpm_name, self._file_names(files))))]
        return [file for file in files if Path(file).name in [f"{label}.rpm" for label in labels]]

    def _take_out_other_builds(self, requests: Sequence[str]) -> None:
        """Remove the DKMS build of the driver that is about to be replaced.

        rpm runs the new package's script before the old one's. At that time dkms finds the old driver's modules, and
        where these are newer it leaves them in place and ends with 0. dpkg removes the old build first; so do we.
        """
        files = [Path(request).name for request in requests]
        for package in self._rpm("-q", [_DRIVER]):
            new = [file for file in files if _is_driver(file)]
            if new and not new[0].startswith(package.label):
                self._run(["dkms", "remove", "-m", _DRIVER, "-v", plain_version(package.version), "--all"])

    def _transaction(self, wanted: Sequence[str], lock_timeout: float, *options: str, verb: str = "install") -> None:
        # Without a time limit: a package manager that is killed leaves packages half way.
        done = run_dnf(self._run, ["-y", *_OPTIONS, verb, *options, *wanted], lock_timeout)
        failed_script = _SCRIPT_FAILED.search(done.stdout + done.stderr)
        if done.rc != 0 or failed_script:
            reason = f"{failed_script.group(1)}." if failed_script else explain(done)
            raise GaudiError(f"The packages cannot be installed: {reason}", output=complaints(done))

    def _file_names(self, files: Sequence[str]) -> list[str]:
        """The packages in these files, by the names that the rest of the collection knows them by."""
        query = ["rpm", "-qp", "--nosignature", "--queryformat", "%{NAME}\\n", *files]
        names = self._run(query).stdout.split() if files else []
        return [DEBIAN_NAMES.get(name, name) for name in names]

    def hold(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`. Locks the installed version; locks of other versions of these packages go."""
        installed = newest_first(self._rpm("-q", [rpm_name(name) for name in names]))
        locks = read_locks(self._root)
        wanted = {every[0].name: lock_entry(every[0]) for every in installed.values()}
        self._unlock([lock.entry for lock in locks if lock.name in wanted and lock.entry != wanted[lock.name]])
        there = {lock.entry for lock in locks}
        new = [entry for entry in wanted.values() if entry not in there]
        if new:
            self._versionlock("add", "--raw", *new)

    def unhold(self, names: Sequence[str]) -> None:
        """See :class:`PackageSystem`."""
        ours = {rpm_name(name) for name in names}
        self._unlock([lock.entry for lock in read_locks(self._root) if lock.name in ours])

    def _unlock(self, entries: Sequence[str]) -> None:
        if entries:
            self._versionlock("delete", *entries)

    def _versionlock(self, *arguments: str) -> None:
        done = run_dnf(self._run, ["-q", "--disablerepo=*", "versionlock", *arguments], 0.0)
        if missing_command(done):
            raise GaudiError(
                f"dnf of this node has no plugin versionlock and cannot hold packages; run `dnf install {LOCK_PLUGIN}`"
                " or set hold to false."
            )
        if done.rc != 0:
            raise GaudiError(f"dnf versionlock {' '.join(arguments)} failed: {explain(done)}")


def _is_driver(file: str) -> bool:
    return re.match(rf"{_DRIVER}-\d", Path(file).name) is not None
