# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Package files from dnf's repositories, each checked against the keys that rpm knows before it gets its place."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .dnf_command import explain, missing_command, run_dnf
from .package_system import keep_file
from .rpm_database import rpm_name

DOWNLOAD_PLUGIN = "dnf-plugins-core"


def fetch(pins: Mapping[str, str], directory: str, run: Run) -> list[str]:
    """The files of these packages (name to version) in ``directory``; see :class:`PackageSystem`."""
    missing = {name: version for name, version in pins.items() if not _file(directory, name, version)}
    if missing:
        # What a power cut leaves of a download lies in a directory of its own and is never taken for a package.
        partial = Path(directory, "partial")
        partial.mkdir(parents=True, exist_ok=True)
        _download([f"{rpm_name(name)}-{version}.*" for name, version in missing.items()], str(partial), run)
        # Only what was asked for now is whole for sure.
        found = [_file(str(partial), name, version) for name, version in missing.items()]
        fetched = [file for file in found if file]
        _check_signatures(fetched, run)
        for file in fetched:
            keep_file(file, directory)
    files = {name: _file(directory, name, version) for name, version in pins.items()}
    lost = sorted(name for name, file in files.items() if file is None)
    if lost:
        raise GaudiError(f"dnf download succeeded but left no file of {', '.join(lost)} in {directory}.")
    return [file for file in files.values() if file]


def _download(specifications: Sequence[str], directory: str, run: Run) -> None:
    # Held packages hide their other versions from dnf; a plugin that cannot be switched off alone is not there.
    command = ["-y", "-q", "--disableplugin=versionlock", "download", "--destdir", directory, *specifications]
    done = run_dnf(run, command, 0.0)
    if missing_command(done):
        # A minimal system lacks it, and nothing can be fetched to look at first without it.
        run_dnf(run, ["-y", "-q", "--setopt=install_weak_deps=0", "install", DOWNLOAD_PLUGIN], 0.0)
        done = run_dnf(run, command, 0.0)
    if missing_command(done):
        raise GaudiError(
            f"dnf of this node has no command download to fetch packages; run `dnf install {DOWNLOAD_PLUGIN}`."
        )
    if done.rc != 0:
        raise GaudiError(f"The packages {', '.join(specifications)} cannot be fetched: {explain(done)}")


def _check_signatures(files: Sequence[str], run: Run) -> None:
    # dnf download compares checksums with the signed metadata, and leaves the packages' own signatures unread.
    for file in files:
        said = run(["rpmkeys", "--checksig", file]).stdout.strip()
        if not said.endswith("signatures OK"):
            Path(file).unlink()
            raise GaudiError(
                f"{Path(file).name} is not signed by a key that rpm knows ({said.rpartition(': ')[2]}); the "
                "repository's package key has to be its signer: correct package_key_url, or synchronize the mirror."
            )


def _file(directory: str, name: str, version: str) -> str | None:
    found = sorted(Path(directory).glob(f"{rpm_name(name)}-{version}.*.rpm"))
    return str(found[0]) if found else None
