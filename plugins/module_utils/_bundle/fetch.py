# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Bringing the files of a bundle onto its disk: several at once, resumed, and checked before they count."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Sequence

from .._errors import GaudiError
from .._node.downloads import length, resume
from .._packages.apt_index import sha256_of
from .manifest import Entry
from .plan import BundleOptions, RemoteFile, part_name

MIB = 1 << 20
# Index files, the manifest and what the file system needs for itself.
SPARE_BYTES = 64 * MIB
_SHOW_EVERY_S = 2.0


class Progress:
    """A line in the work directory that says how far a part is; ``watch cat`` shows it while a task runs."""

    def __init__(self, path: str, part: str, files: int, size: int) -> None:
        self._path = Path(path)
        self._part, self._files, self._size = part, files, size
        self._done_files = self._done_bytes = 0
        self._shown = 0.0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """One more file of ``size`` bytes is there."""
        with self._lock:
            self._done_files += 1
            self._done_bytes += size
            if time.monotonic() - self._shown >= _SHOW_EVERY_S or self._done_files == self._files:
                self._shown = time.monotonic()
                self._path.write_text(self._line(), encoding="utf-8")

    def _line(self) -> str:
        now = time.strftime("%H:%M:%S")
        done, size = self._done_bytes / MIB, self._size / MIB
        return f"{now} {self._part}: {self._done_files} of {self._files} files, {done:.0f} of {size:.0f} MiB\n"


def fetch_all(options: BundleOptions, files: Sequence[RemoteFile], known: dict[str, Entry]) -> list[Entry]:
    """Entries of all ``files``, each on disk. What ``known`` (an earlier record) and the disk agree on is kept.

    What had to be fetched again, because it was missing or damaged, is taken out of ``known``.
    """
    kept = {file.path: entry for file in files if (entry := _kept(options, file, known)) is not None}
    wanted = [_measured(file) for file in files if file.path not in kept]
    for file in wanted:
        known.pop(file.path, None)
    require_space(options.path, sum(file.size for file in wanted))
    partial = Path(options.work, "partial")
    partial.mkdir(parents=True, exist_ok=True)
    progress = Progress(f"{options.work}/progress", part_name(options), len(wanted), sum(file.size for file in wanted))
    fetched: dict[str, Entry] = {}

    def one(file: RemoteFile) -> None:
        fetched[file.path] = _fetch(options, file, partial)
        progress.add(fetched[file.path].size)

    pool = ThreadPoolExecutor(max_workers=max(1, options.jobs))
    try:
        for future in [pool.submit(one, file) for file in wanted]:
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [kept.get(file.path) or fetched[file.path] for file in files]


def _kept(options: BundleOptions, file: RemoteFile, known: dict[str, Entry]) -> Entry | None:
    """The file's entry if it is on disk already. A record tells where it is from, never that it is still sound."""
    path = Path(options.path, file.path)
    entry = known.get(file.path)
    recorded = entry is not None and entry.source == file.url
    wanted = file.sha256 or (entry.sha256 if entry and recorded else "")
    size = file.size or (entry.size if entry and recorded else 0)
    if not wanted or not path.is_file() or (size and path.stat().st_size != size) or sha256_of(path) != wanted:
        return None
    if entry and recorded and entry.sha256 == wanted:
        return entry
    return Entry(file.path, path.stat().st_size, wanted, file.url, file.vouched)


def _measured(file: RemoteFile) -> RemoteFile:
    return file if file.size else replace(file, size=length(file.url, _what(file), "packages_url"))


def _what(file: RemoteFile) -> str:
    return f"The file {file.path.rpartition('/')[2]}"


def _fetch(options: BundleOptions, file: RemoteFile, partial: Path) -> Entry:
    part = partial / hashlib.sha256(f"{file.url} {file.sha256}".encode()).hexdigest()
    checksum = f"sha256:{file.sha256}" if file.sha256 else ""
    resume(file.url, str(part), _what(file), "packages_url", checksum, file.size)
    entry = Entry(file.path, part.stat().st_size, file.sha256 or sha256_of(part), file.url, file.vouched)
    target = Path(options.path, file.path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.chmod(0o644)
    part.replace(target)
    return entry


def require_space(path: str, size: int) -> None:
    """Raise :class:`GaudiError` unless the file system has room for ``size`` bytes more."""
    place = next(parent for parent in [Path(path), *Path(path).parents] if parent.is_dir())
    free = shutil.disk_usage(place).free
    if size and free < size + SPARE_BYTES:
        raise GaudiError(
            f"The file system of the bundle {path} has {free // MIB} MiB free, and this part needs "
            f"{(size + SPARE_BYTES) // MIB} MiB; free space there, or choose another path.",
            free_mib=free // MIB,
        )


def local_entry(options: BundleOptions, path: str, source: str, vouched: str) -> Entry:
    """The entry of a file that was put into the bundle without fetching it."""
    file = Path(options.path, path)
    return Entry(path, file.stat().st_size, sha256_of(file), source, vouched)


def is_there(options: BundleOptions, entry: Entry) -> bool:
    """Whether the file is on disk with its size; what is in it is for ``check.py`` to say."""
    path = Path(options.path, entry.path)
    return path.is_file() and path.stat().st_size == entry.size
