# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A directory of checkpoints: which are whole, what is wrong with one, which are surplus.

A checkpoint is a folder ``step-00000100`` with the files of torch.distributed.checkpoint and, written last,
``manifest.json`` with the size and the SHA-256 of each. It grows under a hidden name, and is renamed when all is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from gaudi3_scale.checkpoints.manifest import MANIFEST, FileRecord, Manifest, manifest_text, read_manifest

MARK = ".mark-"
"""Begins the names of the files by which ranks see that they share a directory."""
Check = Callable[[], None]
"""Raises where this process may neither publish nor remove a checkpoint any more."""
_NAME = re.compile(r"step-([0-9]{8,12})")
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Retention:
    """The newest ``newest`` checkpoints stay, and every one at a multiple of ``every`` steps (0: no others)."""

    newest: int
    every: int = 0


def unfenced() -> None:
    """The check where a directory has no fence."""


def checkpoint_path(directory: Path, step: int) -> Path:
    return directory / f"step-{step:08d}"


def step_of(name: str) -> int | None:
    """The step that a folder's name says, or None for any other name."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def unfinished_path(directory: Path, step: int, run: int) -> Path:
    """Where a checkpoint grows; no other run writes there."""
    return directory / f".step-{step:08d}.{run}"


def record_of(path: Path) -> FileRecord:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    return FileRecord(size, digest.hexdigest())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    with (folder / MANIFEST).open("w", encoding="utf-8") as stream:
        stream.write(manifest_text(manifest))
        stream.flush()
        os.fsync(stream.fileno())
    sync(folder)


def manifest_of(folder: Path) -> Manifest:
    """Raises ValueError where the folder is no whole checkpoint by its manifest alone."""
    try:
        manifest = read_manifest((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise ValueError(f"{MANIFEST}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{MANIFEST}: {error}") from error
    if checkpoint_path(folder.parent, manifest.step).name != folder.name and step_of(folder.name) is not None:
        raise ValueError(f"{MANIFEST}: it is of step {manifest.step}")
    return manifest


def damage(folder: Path, manifest: Manifest, part: int = 0, parts: int = 1) -> str | None:
    """What is wrong with the files in ``folder``, or None. Reads every ``parts``-th file, from number ``part`` on."""
    names = sorted(manifest.files)[part::parts]
    return next(filter(None, (damage_of(folder / name, manifest.files[name]) for name in names)), None)


def damage_of(path: Path, wanted: FileRecord) -> str | None:
    """What is wrong with one file of a checkpoint, or None."""
    try:
        found = record_of(path)
    except OSError as error:
        return f"{path.name}: {error.strerror}"
    if found.bytes != wanted.bytes:
        return f"{path.name} has {found.bytes} bytes instead of {wanted.bytes}"
    return None if found == wanted else f"{path.name} has another checksum than {MANIFEST}"


def found_in(directory: Path) -> tuple[dict[int, int], dict[int, str]]:
    """The steps that have a checkpoint with the run that wrote each, and those that have none that can be read with the
    reason. The manifests alone are read: for the files there is :func:`damage`."""
    runs: dict[int, int] = {}
    broken: dict[int, str] = {}
    for step, path in steps_in(directory).items():
        try:
            runs[step] = manifest_of(path).run
        except ValueError as error:
            broken[step] = str(error)
    return runs, broken


def steps_in(directory: Path) -> dict[int, Path]:
    """The folders by their step, in rising order; one that is still being written has another name."""
    if not directory.is_dir():
        return {}
    named = ((step_of(entry.name), entry) for entry in directory.iterdir() if entry.is_dir())
    return dict(sorted((step, entry) for step, entry in named if step is not None))


def put_in_place(unfinished: Path, final: Path, check: Check = unfenced) -> None:
    """Give a whole checkpoint its name. One that is there under this name, from an earlier run, is replaced.

    A later generation removes what is unfinished as soon as it has the fence, before it reads what there is: who passes
    ``check`` and sleeps then has nothing left to rename, and what it would have replaced stays.
    """
    sync(unfinished)
    check()
    replaced = _hidden(final) if final.exists() else None
    try:
        unfinished.rename(final)
    except OSError:
        if replaced:
            replaced.rename(final)
        raise
    sync(final.parent)
    if replaced:
        shutil.rmtree(replaced, ignore_errors=True)


def set_aside(path: Path, check: Check = unfenced) -> Path:
    """Keep a damaged checkpoint for whoever wants to know why, under a name that nothing resumes from."""
    check()
    aside = path.with_name(f"{path.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    return path.rename(aside)


def remove(path: Path) -> None:
    """Hidden first, so that a half-removed checkpoint is never taken for a whole one."""
    shutil.rmtree(_hidden(path))


def surplus(steps: Sequence[int], retention: Retention) -> list[int]:
    """The steps that need not be kept."""
    old = sorted(steps)[: -retention.newest]
    return [step for step in old if not (retention.every and step % retention.every == 0)]


def remove_surplus(directory: Path, retention: Retention, spared: int | None = None, check: Check = unfenced) -> None:
    """Remove what need not be kept, but not step ``spared``; and damaged ones that are older than the newest."""
    steps = list(steps_in(directory))
    oldest = min(steps[-retention.newest :], default=0)
    for step in surplus(steps, retention):
        if step != spared:
            check()
            remove(checkpoint_path(directory, step))
    for aside in directory.glob("step-*.damaged"):
        if aside.name < checkpoint_path(directory, oldest).name:
            check()
            shutil.rmtree(aside)


def remove_unfinished(directory: Path) -> list[str]:
    """Remove what earlier runs never finished; returns the names of the checkpoints."""
    for mark in directory.glob(f"{MARK}*"):
        mark.unlink(missing_ok=True)
    left = sorted(directory.glob(".step-*"))
    for path in left:
        # At once: whoever sleeps before renaming it to a checkpoint's name finds all of it, or nothing.
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(_hidden(path))
    return [path.name for path in left]


def _hidden(path: Path) -> Path:
    """Rename it to where nothing takes it for a checkpoint; returns the new path."""
    hidden = path.with_name(f".{path.name.removeprefix('.')}.removed")
    shutil.rmtree(hidden, ignore_errors=True)
    return path.rename(hidden)


def sync(path: Path) -> None:
    """Have a file or a folder on the disk. A name is there only when its folder is."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
