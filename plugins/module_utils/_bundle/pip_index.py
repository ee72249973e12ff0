# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A pip index as plain files (PEP 503): any web server can serve it, and pip reads it from ``file://`` too."""

from __future__ import annotations

import html
import os
import urllib.parse
from pathlib import Path
from typing import Iterable

from .._packages.apt_index import sha256_of
from .._venv.wheel_bundle import normalized


def write_simple_pages(simple: str, packages: str) -> list[str]:
    """One page per project with links to its files in ``packages``, and one with all projects; returns their paths."""
    files = sorted(path for path in Path(packages).iterdir() if path.name.endswith((".whl", ".tar.gz")))
    projects: dict[str, list[Path]] = {}
    for file in files:
        projects.setdefault(_project(file), []).append(file)
    root = Path(simple)
    written = [_write(root / "index.html", (f'<a href="{name}/">{name}</a>' for name in projects))]
    for name, its_files in projects.items():
        up = os.path.relpath(packages, root / name)
        links = (
            f'<a href="{up}/{urllib.parse.quote(file.name)}#sha256={sha256_of(file)}">{html.escape(file.name)}</a>'
            for file in its_files
        )
        written.append(_write(root / name / "index.html", links))
    return written


def _project(file: Path) -> str:
    name = file.name[: -len(".tar.gz")] if file.name.endswith(".tar.gz") else file.name
    return normalized(name.rpartition("-")[0] if file.name.endswith(".tar.gz") else name.split("-")[0])


def _write(path: Path, links: Iterable[str]) -> str:
    text = "<!DOCTYPE html>\n<html><body>\n" + "<br>\n".join(links) + "\n</body></html>\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return str(path)
