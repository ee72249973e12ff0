# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Programs that root starts by a path that an option names: only those that nobody else could have put there.

Each directory and link on the way is looked at, and of a virtual environment also what its Python reads before the
first line of a program: its settings, its packages' directories, and those that its .pth files name (site.py). What is
looked at is only root's to change, so what was found is what is run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .._errors import GaudiError
from .path_writers import Place, others_place, words_for

PYTHON = "bin/python"
# What :func:`require_roots` is told of a file of variables.
WITH_VARIABLES = "nothing with variables"
# Names of Python's own for what it imports at its start, and of the settings of an environment.
_SETTINGS = ("pyvenv.cfg", "bin", PYTHON, "lib", "lib64")
_SITES = "lib*/python3*/site-packages"
# More lines than any .pth file of a package has.
_MOST_LINES = 1000
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def root_python(venv: str, option: str = "venv") -> str:
    """The Python of an environment that only root may change, by its real path; its last link stays: it tells Python
    which environment it is of. GaudiError naming ``option`` for any other; one that is not there is nobody's.
    """
    weak = next(weak_places(venv), None)
    if weak is not None:
        raise GaudiError(
            f"{option} is {venv}, but {words_for(weak)}, and root runs nothing that another account may change; name "
            "one that only root may write, such as the one of the role gaudi_venv."
        )
    return f"{os.path.realpath(venv)}/{PYTHON}"


def sole_owner(venv: str) -> int | None:
    """The number of the one account beside root that an environment is of; 0 where only root may change it.

    None where more than one account may: then nobody runs it without running another one's programs.
    """
    founds = [place.found for place in weak_places(venv)]
    if not founds:
        return 0
    owners = {found.st_uid for found in founds}
    is_shared = any(found.st_mode & _OTHERS and not stat.S_ISLNK(found.st_mode) for found in founds)
    return None if is_shared or len(owners) > 1 else owners.pop()


def require_roots(path: str, option: str, what: str = "nothing") -> None:
    """Refuse a path that another account may change; what is not there yet is judged by where it would come to be.

    ``what`` is what root runs otherwise: nothing from there, or nothing with variables from there. By a variable, as
    LD_PRELOAD, a program runs what is named.
    """
    weak = others_place(path)
    if weak is not None:
        raise GaudiError(
            f"{option} is {path}, but {words_for(weak)}, and root runs {what} that another account may change; name a "
            "place that only root may write."
        )


def weak_places(venv: str) -> Iterator[Place]:
    """What another account than root's may change of an environment, or on the way to it."""
    try:
        for path in _ways(venv):
            weak = others_place(path)
            if weak is not None:
                yield weak
        yield from _weak_entries(venv)
    except OSError as error:
        raise GaudiError(
            f"{error.filename or venv} cannot be read: {error.strerror}; check whether its storage responds, or "
            "name another environment."
        ) from error


def _ways(venv: str) -> Iterator[str]:
    yield venv
    real = os.path.realpath(venv)
    yield from (f"{real}/{name}" for name in _SETTINGS)
    for site in _sites(real):
        yield str(site)
        for file in sorted(site.glob("*.pth")):
            yield str(file)
            yield from _named(file, site)


def _sites(venv: str) -> list[Path]:
    return sorted(Path(venv).glob(_SITES))


def _named(file: Path, site: Path) -> Iterator[str]:
    """The directories that a .pth file adds to where Python looks; what it executes is in the file itself."""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines()[:_MOST_LINES]:
        if line.strip() and not line.startswith(("#", "import ", "import\t")):
            yield str(Path(site, line.rstrip()))


def _weak_entries(venv: str) -> Iterator[Place]:
    """Packages, and programs of the environment, that are somebody else's in a directory of root's."""
    if os.geteuid() != 0:
        return
    for directory in filter(Path.is_dir, (Path(venv, "bin"), *_sites(venv))):
        for entry in os.scandir(directory):
            found = entry.stat(follow_symlinks=False)
            if found.st_uid != 0 or (not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS):
                yield Place(entry.path, found)
