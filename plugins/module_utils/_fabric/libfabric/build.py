# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""libfabric and HCCL's wrapper of it, built on one node for all of its kind, into one archive.

Everything happens in a directory of its own that is removed at the end, however it ends, and at the next beginning.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._errors import GaudiError
from ..._node.commands import Run, last_line
from ..._node.digests import file_digest
from ..._node.downloads import download
from ..._node.lock import exclusive
from ..._node.rendered_files import FileChange, WantedFile, write
from ..._node.screen_text import one_line
from ..._node.umask import readable_by_all
from ..._node.urls import is_url
from ..._packages.node_packages import of_node
from ..ofi_wrapper import WRAPPER
from .archive import only_directory, pack, unpack
from .plan import (
    HEADER,
    PREFIX,
    LibfabricOptions,
    check_headers,
    configure_words,
    is_defined,
    source_version,
)

ARCHIVE, WRAPPER_ARCHIVE = "gaudi_fabric_libfabric_archive", "gaudi_fabric_ofi_wrapper_archive"
BUILT, MANIFEST = "libfabric", "built.json"
_SHOWN = 20
# Programs have no working directory of their own here.
_IN_DIRECTORY = 'cd "$1" && shift && exec "$@"'


@dataclass(frozen=True)
class Sources:
    """Where the archives that the controller brought lie on this node; empty for those that a URL names."""

    libfabric: str = ""
    wrapper: str = ""


@dataclass(frozen=True)
class BuildPlace:
    """Directories of the node that builds."""

    root: str = "/"
    state: str = "/var/lib/gaudi3_scale"
    log: str = "/var/log/gaudi3_scale/libfabric-build.log"


def build(
    options: LibfabricOptions, key: str, sources: Sources, into: str, run: Run, place: BuildPlace
) -> dict[str, Any]:
    """Build, and leave the archive in the directory ``into``; returns its path, checksum and size."""
    check_headers(options, Path(options.synapse, HEADER).is_file())
    work = Path(place.state, "libfabric-build")
    with exclusive("libfabric build", 0.0, directory=place.state, remedy="wait for it to finish"):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, mode=0o700)
        try:
            with readable_by_all():
                return _build(options, key, sources, into, _Steps(run, place, options.build_timeout), work)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _build(
    options: LibfabricOptions, key: str, sources: Sources, into: str, steps: _Steps, work: Path
) -> dict[str, Any]:
    tree = _unpacked(options.archive, options.checksum, sources.libfabric, work / "source", ARCHIVE)
    _check_version(tree, options)
    wrapper = None
    if options.wrapper_archive:
        archive, checksum = options.wrapper_archive, options.wrapper_checksum
        wrapper = _unpacked(archive, checksum, sources.wrapper, work / "wrapper", WRAPPER_ARCHIVE)
    steps.install(options.build_packages)
    # What git has has no configure, what is released has.
    if not (tree / "configure").is_file():
        steps.run(tree, ["sh", "autogen.sh"])
    steps.run(tree, ["sh", "configure", *configure_words(options)])
    _check_features(tree, options)
    steps.run(tree, ["make", f"-j{os.cpu_count() or 1}"])
    stage, pack_from = work / "stage", work / "pack"
    steps.run(tree, ["make", "install-strip", f"DESTDIR={stage}"])
    pack_from.mkdir()
    installed = stage / PREFIX.lstrip("/")
    if wrapper:
        steps.run(wrapper, ["make", f"LIBFABRIC_ROOT={installed}"])
        shutil.copy(wrapper / WRAPPER, pack_from / WRAPPER)
    installed.rename(pack_from / BUILT)
    described = {"key": key, "version": options.version, "gaudi_direct": options.gaudi_direct, "wrapper": bool(wrapper)}
    (pack_from / MANIFEST).write_text(json.dumps(described, sort_keys=True) + "\n", encoding="utf-8")
    target = Path(into, f"libfabric-{key}.tar.gz")
    pack(str(pack_from), str(target))
    # The account that Ansible logs in as fetches it.
    target.chmod(0o644)
    return {"path": str(target), "sha256": file_digest(target, "sha256"), "size": target.stat().st_size}


class _Steps:
    """The commands of one build, whose output is kept in one log."""

    def __init__(self, run: Run, place: BuildPlace, timeout: float) -> None:
        self._run, self._place, self._timeout = run, place, timeout
        self._text = ""

    def install(self, packages: Sequence[str]) -> None:
        """What the build needs of the distribution."""
        if not packages:
            return
        system = of_node(self._run, self._place.root)
        known = system.query(packages)
        missing = [name for name in packages if name not in known or not known[name].installed]
        if not missing:
            return
        try:
            system.prepare(missing, self._timeout)
        except GaudiError:
            system.refresh(self._timeout)
            system.prepare(missing, self._timeout)
        system.install(missing, self._timeout)

    def run(self, directory: Path, command: list[str]) -> None:
        """One command in ``directory``; where it fails, the last line is its reason and the log has the rest."""
        done = self._run(["sh", "-c", _IN_DIRECTORY, "sh", str(directory), *command], timeout=self._timeout)
        output = f"{done.stdout.rstrip()}\n{done.stderr}".strip()
        self._text += f"$ {' '.join(command)}\n{output}\n"
        log = WantedFile(self._place.log, self._text)
        write(FileChange(log, None, None))
        if done.rc != 0:
            name = " ".join(command[:2]).removeprefix("sh ")
            raise GaudiError(
                f"libfabric is not built and nothing of it was installed: `{name}` ended with {done.rc}: "
                f"{one_line(_reason(output))}; its whole output is in {self._place.log} on this node.",
                log=[one_line(line) for line in output.splitlines()[-_SHOWN:]],
            )


def _reason(output: str) -> str:
    """The first line that a compiler or configure calls an error; make's own last lines only say that there was one."""
    lines = output.splitlines()
    errors = [line for line in lines if "error:" in line.lower() and not line.startswith("make")]
    return (errors[0] if errors else last_line(output)).strip().rstrip(".")


def _unpacked(archive: str, checksum: str, brought: str, target: Path, option: str) -> Path:
    file = brought
    if not brought:
        if not is_url(archive):
            raise GaudiError(f"{archive} was not copied to this node; run the role, which copies it.")
        file = str(target.with_suffix(".archive"))
        download(archive, file, "The archive", option, checksum)
    found = file_digest(Path(file), "sha256")
    if f"sha256:{found}" != checksum:
        raise GaudiError(
            f"{archive} has the SHA-256 {found}, but {option[: -len('archive')]}checksum is another one; nothing was "
            "unpacked: the file was changed, or the checksum belongs to another one."
        )
    target.mkdir()
    unpack(file, str(target), option)
    return only_directory(str(target), archive, option)


def _check_version(tree: Path, options: LibfabricOptions) -> None:
    configure = tree / "configure.ac"
    found = source_version(configure.read_text(encoding="utf-8", errors="replace")) if configure.is_file() else ""
    if not found:
        raise GaudiError(
            f"{options.archive} does not contain libfabric: its configure.ac does not name it; correct {ARCHIVE}."
        )
    if found != options.version:
        raise GaudiError(
            f"{options.archive} is libfabric {found}, and gaudi_fabric_libfabric_version is {options.version}; make "
            "them agree."
        )


def _check_features(tree: Path, options: LibfabricOptions) -> None:
    """Have what was asked for: configure goes on without what it does not find."""
    config = (tree / "config.h").read_text(encoding="utf-8", errors="replace")
    wanted = {"HAVE_VERBS": "verbs", "HAVE_TCP": "tcp"}
    if options.gaudi_direct:
        wanted["HAVE_SYNAPSEAI"] = "SynapseAI"
    missing = [word for name, word in wanted.items() if not is_defined(config, name)]
    if missing:
        raise GaudiError(
            f"libfabric is not built and nothing of it was installed: configure left out {', '.join(missing)}; install "
            "what it needs for that (gaudi_fabric_libfabric_build_packages)."
        )
