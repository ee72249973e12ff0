# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The training environment on a node: a virtual environment whose PyTorch is the vendor's, and stays so."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterable, Iterator, Mapping, Sequence

from ..bundle import bundle_site
from ..cards.node_system import read_system
from ..errors import GaudiError
from ..node.commands import Run
from ..node.downloads import download, file_digest
from ..node.lock import exclusive
from ..node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from ..node.umask import readable_by_all
from ..releases.lookup import Release, find_release
from . import node_library, pip_install
from . import plan as venv_plan
from .node_library import NodeLibrary
from .pin_table import PINS
from .pins import Pin, chosen, hashed_requirements, left_to, needed, render
from .plan import Asked, Stamp, VenvOptions
from .requirement import named_requirement
from .wheel_bundle import choose, demands, unpack, versions

LOCK = "training environment"


@dataclass(frozen=True)
class Wanted:
    """What the options come to. ``pins`` are all that hold; ``asked`` has those that this environment needs."""

    options: VenvOptions
    release: Release
    library: NodeLibrary
    pins: list[Pin]
    asked: Asked


@dataclass(frozen=True)
class VenvState:
    """What is at the path. ``foreign``: something is there that this collection did not make."""

    stamp: Stamp | None
    installed: Mapping[str, str]
    runnable: bool
    foreign: bool


def read(options: VenvOptions) -> VenvState:
    """Look at the path; starts no process."""
    path = Path(options.path)
    stamp_text = read_text(str(path / venv_plan.STAMP))
    entries = [entry.name for site in path.glob("lib/python3*/site-packages") for entry in site.iterdir()]
    return VenvState(
        stamp=venv_plan.parse_stamp(stamp_text),
        installed=venv_plan.installed_distributions(entries),
        # ensurepip writes bin/pip last.
        runnable=(path / "bin/python").exists() and (path / "bin/pip").exists(),
        foreign=stamp_text is None and path.exists() and (not path.is_dir() or any(path.iterdir())),
    )


def converge(options: VenvOptions, run: Run, check_mode: bool, record: str = bundle_site.RECORD) -> dict[str, object]:
    """Bring the environment to what is wanted; the result's keys are always the same.

    Raises :class:`GaudiError` with the fact ``missing_wheel`` where something has to be installed and the node library
    that the controller has is not on the node.
    """
    wanted = _wanted(options, record)
    state = read(wanted.options)
    reasons = _reasons(wanted, state)
    stamp = state.stamp
    diff: list[dict[str, str]] = []
    if reasons:
        _refuse(wanted.options, wanted.asked, state)
        diff = [_venv_difference(wanted.options, wanted.asked, stamp)]
        if check_mode:
            diff += differences(pending([_pip_conf(wanted.options)]))
        else:
            with exclusive(LOCK, options.timeout, directory=str(Path(record).parent), remedy="wait for its end"):
                state = read(wanted.options)
                if _reasons(wanted, state):
                    stamp, changes = _install(wanted, state, run)
                    diff += differences(changes)
                else:
                    # Another controller did it meanwhile.
                    stamp, diff = state.stamp, []
    elif stamp:
        changes = _write_pending(_settings(wanted, stamp.wheels, stamp.unpinned), check_mode)
        diff = differences(changes)
    return {
        "changed": bool(diff),
        "diff": diff,
        "path": options.path,
        "release": wanted.release.version,
        "bundle_url": wanted.asked.bundle_url,
        "constraints": options.constraints,
        "node_library": wanted.asked.node_library,
        "reasons": reasons,
        "wheels": dict(stamp.wheels) if stamp else {},
        "requirements": dict(stamp.requirements) if stamp else {},
    }


def _wanted(options: VenvOptions, record: str) -> Wanted:
    release = find_release(options.release, options.release_overrides)
    options = _at_site(options, release, record)
    library = node_library.look(node_library.wanted(options.node_library, options.extras, options.path))
    pins = chosen(PINS, options.pins, options.requirements)
    of_this = needed(pins, library.extras) if library.url or options.requirements else []
    interpreter = os.path.realpath(options.python)
    asked = venv_plan.asked_for(options, release, interpreter, read_system().os, library, of_this)
    return Wanted(options, release, library, pins, asked)


def _reasons(wanted: Wanted, state: VenvState) -> list[str]:
    reasons = venv_plan.faults(wanted.asked, state.stamp, state.installed)
    if not reasons and not state.runnable:
        return [f"{wanted.options.path}/bin has no python or no pip that works"]
    return reasons


def _at_site(options: VenvOptions, release: Release, record: str) -> VenvOptions:
    """Where the vault is a bundle, its pip index and its checksum stand in for what the operator left empty."""
    site = bundle_site.recorded(options.vault_url, record)
    if site is None or not site.is_bundle:
        return options
    url = venv_plan.bundle_url(options, release, read_system().os)
    return replace(
        options,
        index_url=options.index_url or site.index_url,
        bundle_checksum=options.bundle_checksum or site.checksum(url),
    )


def _settings(wanted: Wanted, wheels: Mapping[str, str], unpinned: Sequence[str]) -> list[WantedFile]:
    options = wanted.options
    builds = venv_plan.render_constraints(wheels, wanted.release, wanted.library)
    pins = render(pin for pin in wanted.pins if pin.name not in unpinned)
    return [
        WantedFile(options.constraints, builds),
        WantedFile(f"{options.path}/{venv_plan.PINS_FILE}", pins),
        _pip_conf(options),
    ]


def _pip_conf(options: VenvOptions) -> WantedFile:
    return WantedFile(f"{options.path}/pip.conf", venv_plan.render_pip_conf(options))


def _write_pending(wanted: Sequence[WantedFile], check_mode: bool = False) -> list[FileChange]:
    changes = pending(wanted)
    for change in () if check_mode else changes:
        write(change)
    return changes


def _venv_difference(options: VenvOptions, asked: Asked, stamp: Stamp | None) -> dict[str, str]:
    """The environment as text, for ``--diff``: what went into it, and what shall."""
    before, after = _as_text(stamp.asked) if stamp else "", _as_text(asked)
    return {"before_header": options.path, "after_header": options.path, "before": before, "after": after}


def _as_text(asked: Asked) -> str:
    values = {name: value for name, value in vars(asked).items() if name != "pins"}
    lines = [*(f"{name}: {value}" for name, value in values.items()), *(f"pin: {pin}" for pin in asked.pins)]
    return "".join(f"{line}\n" for line in lines)


def _refuse(options: VenvOptions, asked: Asked, state: VenvState) -> None:
    """What can be known to be impossible before anything is fetched or changed."""
    if state.foreign:
        raise GaudiError(
            f"path '{options.path}' exists and was not made by this collection; choose another path, or remove it.",
            path=options.path,
        )
    if venv_plan.keeps_bundle(asked, state.stamp, state.installed):
        return
    place = next(parent for parent in [Path(options.path), *Path(options.path).parents] if parent.is_dir())
    free = shutil.disk_usage(place).free >> 20
    if free < options.min_free_mib:
        raise GaudiError(
            f"The file system of path '{options.path}' has {free} MiB free, and the training environment needs "
            f"{options.min_free_mib} MiB; free space there, choose another path, or lower min_free_mib.",
            free_mib=free,
        )


def _install(wanted: Wanted, state: VenvState, run: Run) -> tuple[Stamp, list[FileChange]]:
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
        settings = _settings(wanted, wheels, unpinned)
        before = [WantedFile(file.path, read_text(file.path)) for file in settings]
        try:
            if not keeps_content:
                pip_install.make(options, run)
            changes = _write_pending(settings)
            pip_install.install(options, _pip_words(wanted, files, unpinned, scratch), str(scratch), run)
            if keeps_content and _is_same_version(wanted, state):
                pip_install.replace_same_version(options, library.constraint, str(scratch), run)
            names = [named_requirement(requirement).name for requirement in options.requirements]
            stamp = Stamp(
                venv_plan.COMPLETE,
                asked,
                _installed_versions(options, wheels),
                _installed_versions(options, names + [node_library.NAME] * bool(library.url)),
                unpinned,
            )
        except GaudiError:
            _write_pending(before)
            _write_stamp(options, Stamp(venv_plan.FAILED, asked))
            raise
        _write_stamp(options, stamp)
    node_library.forget_others(library, options.path)
    return stamp, changes


def _pip_words(wanted: Wanted, files: Sequence[str], unpinned: Sequence[str], scratch: Path) -> list[str]:
    """What pip is told to install; where hashes are demanded, in a file, which alone can have them."""
    options, library = wanted.options, [wanted.library.requirement] * bool(wanted.library.url)
    if not options.hashes:
        words = [*files, *library, *options.requirements]
        return [*words, "-c", f"{options.path}/{venv_plan.PINS_FILE}"] if words else []
    pins = [pin for pin in needed(wanted.pins, wanted.library.extras) if pin.name not in unpinned]
    bundle = [f"{Path(file).as_uri()} --hash=sha256:{file_digest(Path(file), 'sha256')}" for file in files]
    target = scratch / "requirements.txt"
    lines = [*bundle, *library, *hashed_requirements(options.requirements, pins)]
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--require-hashes", "-r", str(target)]


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
    option = "bundle_url" if options.bundle_url else "release, os_directory or vault_url (or set bundle_url)"
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
    _write_pending([WantedFile(f"{options.path}/{venv_plan.STAMP}", venv_plan.render_stamp(stamp))])


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
