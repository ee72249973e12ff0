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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._errors import GaudiError
from ..._node.commands import Run
from ..._node.digests import file_digest
from ..._node.lock import exclusive
from ..._node.umask import readable_by_all
from ..ofi_wrapper import ARCHIVE as WRAPPER_ARCHIVE
from ..ofi_wrapper import WRAPPER
from ..source_build import BuildSteps, unpacked_source
from .archive import pack
from .plan import (
    HEADER,
    PREFIX,
    LibfabricOptions,
    check_headers,
    configure_words,
    is_defined,
    source_version,
)

ARCHIVE = "gaudi_fabric_libfabric_archive"
BUILT, MANIFEST = "libfabric", "built.json"


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
        steps = BuildSteps("libfabric", run, place.root, place.log, options.build_timeout)
        try:
            with readable_by_all():
                return _build(options, key, sources, into, steps, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _build(
    options: LibfabricOptions, key: str, sources: Sources, into: str, steps: BuildSteps, work: Path
) -> dict[str, Any]:
    tree = unpacked_source(options.archive, options.checksum, sources.libfabric, work / "source", ARCHIVE)
    _check_version(tree, options)
    wrapper = None
    if options.wrapper_archive:
        archive, checksum = options.wrapper_archive, options.wrapper_checksum
        wrapper = unpacked_source(archive, checksum, sources.wrapper, work / "wrapper", WRAPPER_ARCHIVE)
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
