# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What nodes built for others of their kind, as the controller keeps it: an archive, and beside it its checksum.

Ansible's forks are processes: the first that takes the lock of a kind has its node build, the others wait and find it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import read_json


@dataclass(frozen=True)
class BuiltLibrary:
    """A built archive on the controller."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class BuiltLibraries:
    """Those of one directory; ``key`` stands for the kind of node, and comes from a node: only its form is trusted."""

    directory: Path

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Nobody else builds, fetches or reads the one of this kind meanwhile."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._file(key, ".lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def find(self, key: str) -> BuiltLibrary | None:
        """The one of this kind, whole; None where there is none. GaudiError where it is not what was kept."""
        archive = self._file(key, ".tar.gz")
        kept = str((read_json(str(self._file(key, ".json"))) or {}).get("sha256", ""))
        if not archive.is_file() or not kept:
            return None
        if file_digest(archive, "sha256") != kept:
            raise GaudiError(
                f"{archive} on the controller is not what was built: its SHA-256 is not {kept}; remove it to have it "
                "built again."
            )
        return BuiltLibrary(archive, kept)

    def keep(self, key: str, fetched: Path, sha256: str, host: str) -> BuiltLibrary:
        """Take what was fetched from the node that built it; the checksum is written last, and stands for all of it."""
        found = file_digest(fetched, "sha256")
        if found != sha256:
            raise GaudiError(
                f"What {host} built reached the controller with the SHA-256 {found}, not {sha256}; run again."
            )
        archive = self._file(key, ".tar.gz")
        self._file(key, ".json").unlink(missing_ok=True)
        fetched.replace(archive)
        self._write(key, ".json", {"sha256": sha256, "built_on": host})
        return BuiltLibrary(archive, sha256)

    def fail(self, key: str, run: str, host: str, message: str) -> None:
        """Remember for the others of this run that it failed: they would fail in the same way, one after the other."""
        self._write(key, ".failed", {"run": run, "host": host, "message": message})

    def failure(self, key: str, run: str) -> str:
        """Why a build of this run failed, with the host's name; empty where none did."""
        failed = read_json(str(self._file(key, ".failed"))) or {}
        return f"{failed['host']}: {failed['message']}" if failed.get("run") == run else ""

    def _write(self, key: str, suffix: str, data: dict[str, str]) -> None:
        fresh = self._file(key, f"{suffix}.{os.getpid()}.new")
        fresh.write_text(json.dumps(data, sort_keys=True) + "\n", encoding="utf-8")
        fresh.replace(self._file(key, suffix))

    def _file(self, key: str, suffix: str) -> Path:
        if not key.isalnum() or not key.isascii() or len(key) > 64:
            raise GaudiError(f"A node names its kind {key!r:.80}, which is not a valid name; inspect the node.")
        return self.directory / f"{key}{suffix}"
