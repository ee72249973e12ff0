# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A program of the core in one file that any Python of a node runs: a zip application (PEP 441)."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath
from typing import Callable, Iterable

PACKAGE = "gaudi3_scale_program"
# The oldest that a zip archive can name: one content gives one file.
DATE = (1980, 1, 1, 0, 0, 0)
# Each launch makes the archive on each node, and parsing took longer than all else of it.
IMPORT = re.compile(r"^[ \t]*from (\.+)([\w.]+) import ", re.MULTILINE)
MAIN = """import sys

from {module} import main

sys.exit(main(sys.argv[1:]))
"""


def build(read_source: Callable[[str], str], entry: str) -> bytes:
    """The archive, always the same for the same sources; ``read_source`` gives the text of a module by its path.

    It runs ``main`` of the module ``entry`` with the arguments that it is given.
    """
    sources = needed(read_source, entry)
    files = {
        "__main__.py": MAIN.format(module=f"{PACKAGE}.{entry.replace('/', '.')}"),
        f"{PACKAGE}/__init__.py": "",
        **{f"{PACKAGE}/{package}/__init__.py": "" for package in sorted(packages_of(sources))},
        **{f"{PACKAGE}/{name}.py": text for name, text in sorted(sources.items())},
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, text in files.items():
            writer.writestr(zipfile.ZipInfo(name, DATE), text, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def needed(read_source: Callable[[str], str], entry: str) -> dict[str, str]:
    """The program's modules and all that these import of the core, by path (``_job/paths``)."""
    found: dict[str, str] = {}
    open_ends = [entry]
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found[name] = read_source(name)
            open_ends += imports_of(name, found[name])
    return found


def packages_of(paths: Iterable[str]) -> set[str]:
    """Their packages, and those that these are in."""
    return {str(package) for path in paths for package in PurePosixPath(path).parents} - {"."}


def imports_of(name: str, source: str) -> list[str]:
    """The paths of the core's modules that a source imports, wherever in it; ``name`` is its own path."""
    package = name.split("/")[:-1]
    return [
        "/".join([*package[: len(package) - len(dots) + 1], *module.split(".")])
        for dots, module in IMPORT.findall(source)
    ]
