# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A place of its own for a module under attack: whatever it may name lies below one directory."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

# Programs that a module asks before it changes something; each says that all is well, and does nothing.
PROGRAMS = ("systemctl", "journalctl", "dpkg-query", "apt-get", "apt-cache", "hl-smi", "podman", "docker", "modprobe")


def build(root: Path) -> None:
    """Make the place: a kernel tree, stand-ins for programs, and one of everything that a path may wrongly name."""
    write_kernel(root / "kernel")
    for name in PROGRAMS:
        _program(root / "bin" / name, "exit 0")
    _program(root / "bin/python3", "exit 1")
    for name in ("python", "torchrun"):
        _program(root / "good/venv/bin" / name, "exit 1")
    (root / "good/working_directory").mkdir()
    (root / "good/code").mkdir()
    for name in ("train.py", "requirements.txt"):
        (root / "good/code" / name).touch()
    (root / "directory").mkdir()
    (root / "directory/kept").write_text("kept\n", encoding="utf-8")
    (root / "file").write_text("kept\n", encoding="utf-8")
    (root / "unreadable").write_text("kept\n", encoding="utf-8")
    (root / "nested.json").write_text("[" * 200_000, encoding="utf-8")
    os.mkfifo(root / "fifo")
    (root / "zero").symlink_to("/dev/zero")
    (root / "dangling").symlink_to(root / "nowhere")
    (root / "loop").symlink_to(root / "loop")


def _program(path: Path, does: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    path.chmod(0o755)


def picture(root: Path) -> dict[str, str]:
    """Everything below ``root`` by path: its kind, mode, and what is in it.

    Looked at after each of thousands of attacks, so it asks the system once for each thing.
    """
    seen: dict[str, str] = {}
    _look(str(root), "", seen)
    return seen


def _look(place: str, within: str, seen: dict[str, str]) -> None:
    with os.scandir(place) as entries:
        for entry in entries:
            name = f"{within}{entry.name}"
            seen[name] = _state(entry)
            if entry.is_dir(follow_symlinks=False):
                _look(entry.path, f"{name}/", seen)


def _state(entry: os.DirEntry[str]) -> str:
    status = entry.stat(follow_symlinks=False)
    content = ""
    if stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(Path(entry.path).read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = str(Path(entry.path).readlink())
    return f"{status.st_mode:o} {content}"
