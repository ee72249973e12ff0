# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Making the training environment: the bundle fetched, pip called, and a stamp that says how far it came."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.digests import file_digest
from .._node.downloads import download
from .._node.rendered_files import FileChange, WantedFile, read_text
from .._node.umask import readable_by_all
from . import node_library, pip_install
from . import plan as venv_plan
from .pins import hashed_requirements, left_to, needed
from .plan import Asked, Stamp, VenvOptions
from .private_files import own_if_secret, write_private
from .requirement import named_requirement
from .wanted import VenvState, Wanted, read, settings, write_pending
from .wheel_bundle import choose, demands, unpack, versions


def install(wanted: Wanted, state: VenvState, run: Run) -> tuple[Stamp, list[FileChange]]:
    """Build the environment, or what of it is not as wanted; returns its stamp, and the files that were written."""
    options, asked, library = wanted.options, wanted.asked, wanted.library
    node_library.have(library, options.node_library_file)
    python = pip_install.python_version(options, run)
    keeps_content = state.runnable and venv_plan.keeps_content(asked, state.stamp)
    keeps_bundle = keeps_content and venv_plan.keeps_bundle(asked, state.stamp, state.installed)
    files: list[str] = []
    # Jobs run as other users.
    with _own_directory(Path(f"{options.path}.bundle")) as scratch, readable_by_all():
        if keeps_bundle and state.stamp:
            wheels, unpinned = dict(state.stamp.wheels), state.stamp.unpinned
        else:
            wheels, files = _fetch_bundle(options, asked, python, scratch)
            unpinned = left_to(demands(files), wanted.pins)
        # From here on the environment changes. The stamp says so until the end is reached: the next run throws away
        # what an interruption leaves, and builds on what an orderly failure leaves.
        _write_stamp(options, Stamp(venv_plan.INSTALLING, asked))
        if not keeps_content:
            _empty(Path(options.path))
        files_of_pip = settings(wanted, wheels, unpinned)
        before = [WantedFile(file.path, read_text(file.path)) for file in files_of_pip]
        try:
            if not keeps_content:
                pip_install.make(options, run)
            changes = write_pending(files_of_pip)
            pip_install.install(options, _pip_words(wanted, files, unpinned, scratch), str(scratch), run)
            if keeps_content and _is_same_version(wanted, state):
                again = scratch / "again.txt"
                write_private(again, [library.constraint])
                pip_install.replace_same_version(options, str(again), str(scratch), run)
            names = [named_requirement(requirement).name for requirement in options.requirements]
            stamp = Stamp(
                venv_plan.COMPLETE,
                asked,
                _installed_versions(options, wheels),
                _installed_versions(options, names + [node_library.NAME] * bool(library.url)),
                unpinned,
            )
        except GaudiError:
            write_pending(before)
            _write_stamp(options, Stamp(venv_plan.FAILED, asked))
            raise
        _write_stamp(options, stamp)
    node_library.forget_others(library, options.path)
    return stamp, changes


def _pip_words(wanted: Wanted, files: Sequence[str], unpinned: Sequence[str], scratch: Path) -> list[str]:
    """What pip is told to install, in a file: hashes can be nowhere else, and addresses may have a password in them."""
    options, library = wanted.options, [wanted.library.requirement] * bool(wanted.library.url)
    # PIP_FIND_LINKS and the like of the task's environment would go before the environment's own pip.conf.
    alone = ["--isolated"] * bool(options.signed_wheels)
    target = scratch / "requirements.txt"
    if not options.hashes:
        lines = [*(Path(file).as_uri() for file in files), *library, *options.requirements]
        write_private(target, lines)
        return [*alone, "-r", str(target), "-c", f"{options.path}/{venv_plan.PINS_FILE}"] if lines else []
    pins = [pin for pin in needed(wanted.pins, wanted.library.extras) if pin.name not in unpinned]
    bundle = [f"{Path(file).as_uri()} --hash=sha256:{file_digest(Path(file), 'sha256')}" for file in files]
    write_private(target, [*bundle, *library, *hashed_requirements(options.requirements, pins)])
    return [*alone, "--require-hashes", "-r", str(target)]


def _is_same_version(wanted: Wanted, state: VenvState) -> bool:
    """Whether the node library's version was there before, and perhaps not with this content."""
    before, after = state.installed.get(node_library.NAME), read(wanted.options).installed.get(node_library.NAME)
    known = state.stamp is not None and state.stamp.state == venv_plan.COMPLETE
    same = known and state.stamp is not None and state.stamp.asked.node_library == wanted.asked.node_library
    return bool(wanted.library.url) and before == after and not same


def _fetch_bundle(
    options: VenvOptions, asked: Asked, python: tuple[int, int], scratch: Path
) -> tuple[dict[str, str], list[str]]:
    """Names and versions of the wheels to install, and their files below ``scratch``."""
    archive = str(scratch / "bundle.tgz")
    option = "bundle_url" if options.bundle_url else "release, os_directory or packages_url (or set bundle_url)"
    download(asked.bundle_url, archive, "The PyTorch bundle", option, options.bundle_checksum)
    files = unpack(archive, str(scratch), asked.bundle_url)
    Path(archive).unlink()
    chosen = choose(files, options.bundle_wheels, python, asked.bundle_url)
    return versions(chosen), [str(scratch / wheel.file) for wheel in chosen.values()]


def _installed_versions(options: VenvOptions, names: Iterable[str]) -> dict[str, str]:
    """The versions as the environment's own metadata spells them."""
    installed = read(options).installed
    wanted = sorted(set(names))
    missing = [name for name in wanted if name not in installed]
    if missing:
        raise GaudiError(
            f"pip reported success, but {options.path} has no {', '.join(missing)}; remove {options.path}."
        )
    return {name: installed[name] for name in wanted}


def _write_stamp(options: VenvOptions, stamp: Stamp) -> None:
    write_pending([own_if_secret(f"{options.path}/{venv_plan.STAMP}", venv_plan.render_stamp(stamp))])


def _empty(path: Path) -> None:
    """Remove everything but the stamp, which says until the end that the directory is ours and unfinished."""
    for entry in path.iterdir() if path.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != venv_plan.STAMP:
            entry.unlink()


@contextmanager
def _own_directory(path: Path) -> Iterator[Path]:
    """A directory for the time of the installation; a leftover of an interrupted one is removed first."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
