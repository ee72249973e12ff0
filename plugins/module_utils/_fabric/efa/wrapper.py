# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""HCCL's wrapper of libfabric, built on each node against the libfabric that Amazon's installer brings.

Each node builds its own: it is one file, and Amazon's installer compiles its kernel module on each node too.
Source: HabanaAI/hccl_ofi_wrapper, README and Makefile (LIBFABRIC_ROOT with ``include`` and ``lib``).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..._errors import GaudiError
from ..._node.commands import Run
from ..._node.digests import file_digest
from ..._node.json_file import read_json
from ..._node.umask import readable_by_all
from ..._node.urls import is_url
from ..ofi_wrapper import ARCHIVE, WRAPPER, put_wrapper, tell_loader, wrapper_file
from ..source_build import BuildSteps, unpacked_source
from .stack import PREFIX, libfabric_of
from .wrapper_plan import VERSION_OPTION, WrapperOptions

HEADER = "include/rdma/fabric.h"
_KEPT = "ofi_wrapper.json"
_WORK = "ofi-wrapper-build"
_LOG = "var/log/gaudi3_scale/ofi-wrapper-build.log"


@dataclass(frozen=True)
class WrapperPlace:
    """Where the wrapper goes, below ``root``, and where this node keeps what it was built of."""

    root: str
    state: Path

    @property
    def prefix(self) -> Path:
        """Amazon's."""
        return Path(self.root, PREFIX)

    @property
    def target(self) -> Path:
        return wrapper_file(self.root)


def found_wrapper(place: WrapperPlace) -> str:
    """The words of the one that this node has built; of a file that somebody else has put there only that it is."""
    kept = read_json(str(place.state / _KEPT)) or {}
    if not place.target.is_file():
        return ""
    if kept.get("sha256") == file_digest(place.target, "sha256"):
        return str(kept.get("built", ""))
    return f"{WRAPPER} of another origin"


def ask_for_sources(wishes: WrapperOptions) -> None:
    """Before anything is changed: the controller has the archive, and brings it where it is asked for it."""
    if not is_url(wishes.archive) and not wishes.archive_file:
        raise GaudiError(
            f"The archive {wishes.archive} is not on this node yet; the role copies it from the controller.",
            missing_ofi_wrapper_archive=wishes.archive,
        )


def build_wrapper(wishes: WrapperOptions, words: str, timeout: float, run: Run, place: WrapperPlace) -> None:
    """Build it and put it where HCCL looks for it, in one step; a run that is cut off begins anew.

    ``words`` are those of ``wrapper_plan.described``, which are kept beside it.
    """
    work = place.state / _WORK
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, mode=0o700)
    steps = BuildSteps(WRAPPER, run, place.root, str(Path(place.root, _LOG)), timeout)
    try:
        root = _libfabric_root(place.prefix, work / "libfabric")
        source = unpacked_source(wishes.archive, wishes.checksum, wishes.archive_file, work / "source", ARCHIVE)
        with readable_by_all():
            steps.install(wishes.build_packages)
            steps.run(source, ["make", f"LIBFABRIC_ROOT={root}"])
            built = _examined(source / WRAPPER, run, steps.log)
            built.chmod(0o755)
            put_wrapper(built, place.target)
            tell_loader(run)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    kept = {"built": words, "sha256": file_digest(place.target, "sha256")}
    (place.state / _KEPT).write_text(json.dumps(kept, sort_keys=True) + "\n", encoding="utf-8")


def _libfabric_root(prefix: Path, root: Path) -> Path:
    """Amazon's libfabric as the wrapper's Makefile wants it: RHEL's libraries are in lib64, and it looks in lib."""
    libraries = next((prefix / name for name in ("lib", "lib64") if (prefix / name / "libfabric.so").exists()), None)
    if libraries is None or not (prefix / HEADER).is_file():
        raise GaudiError(
            f"{WRAPPER} is not built: {prefix} lacks libfabric.so or {HEADER}; install another {VERSION_OPTION}, "
            f"whose installer brings libfabric's headers, or remove {ARCHIVE}."
        )
    root.mkdir()
    (root / "include").symlink_to(prefix / "include")
    (root / "lib").symlink_to(libraries)
    return root


def _examined(built: Path, run: Run, log: str) -> Path:
    """What was built, once it is known to be a library that loads libfabric: a static one would not be Amazon's."""
    if not built.is_file() or libfabric_of(run, str(built), "") == "":
        raise GaudiError(
            f"`make` ended well and left no {WRAPPER} that loads libfabric; give the sources of hccl_ofi_wrapper as "
            f"{ARCHIVE} (its output is in {log} on this node)."
        )
    return built
