# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The versions of ansible-core that the collection is for, and an environment of each for which a Python is here.

A Python is found by its name on the path, or where pyenv keeps its own; ``PYTHONS="/opt/python3.12/bin/python3 ..."``
names others. ``python -m scripts.ansible_cores`` prints what is here, and ``python -m scripts.ansible_cores 2.17``
makes that environment and prints the directory of its programs: ``2.17`` with the oldest Python for it that is here,
``2.17/3.12`` with that one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "cores"
# ansible-core -> the Pythons that it runs on, by Ansible's own table of releases, of those that the README asks for. A
# test holds meta/runtime.yml and what the documentation says against the first and the last.
CORES: Mapping[str, Sequence[str]] = {
    "2.17": ("3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.12", "3.13", "3.14"),
}
NAMES = ("python3", *(f"python3.{minor}" for minor in range(11, 16)))
_ASK = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2], sys.executable)"


class CoreError(Exception):
    """A sentence about an environment that cannot be made."""


def main(arguments: Sequence[str]) -> int:
    pythons = found_pythons(arguments or [*CORES])
    try:
        for core in arguments:
            sys.stdout.write(f"{environment(core, pythons)}\n")
    except CoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not arguments:
        for core in CORES:
            sys.stdout.write(f"{core} {pythons[core] if core in pythons else why_not(core)}\n")
    return 0


def found_pythons(cores: Sequence[str] = (*CORES,)) -> dict[str, Path]:
    """ansible-core -> the oldest Python for it that is here, starts and can make environments."""
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    found: dict[str, Path] = {}
    for name in [*os.environ.get("PYTHONS", "").split(), *NAMES, *map(str, sorted(kept.glob("3.*/bin/python3")))]:
        path = shutil.which(name)
        said = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, check=False) if path else None
        if said and not said.returncode:
            version, _space, program = said.stdout.strip().partition(" ")
            found.setdefault(version, Path(program))
    chosen = {core: next((found[one] for one in pythons_for(core) if one in found), None) for core in cores}
    return {core: python for core, python in chosen.items() if python}


def pythons_for(core: str) -> list[str]:
    """The Pythons of ``2.17``, the oldest first, or the one of ``2.17/3.12``; none where it is not for that one."""
    line, _slash, wanted = core.partition("/")
    return [python for python in CORES.get(line, ()) if wanted in ("", python)]


def why_not(core: str) -> str:
    return f"no Python {' or '.join(pythons_for(core))} is here" if pythons_for(core) else "it is unknown"


def environment(core: str, pythons: Mapping[str, Path], requirements: Sequence[Path] = ()) -> Path:
    """The directory of the programs of ``core`` and of ``requirements``, below build/; raises CoreError.

    An environment that is there already, of the same files, is taken as it is.
    """
    if core not in pythons:
        raise CoreError(f"ansible-core {core} is left out: {why_not(core)}.")
    texts = [core, str(pythons[core]), *(path.read_text(encoding="utf-8") for path in requirements)]
    stamp = sha256("\0".join(texts).encode()).hexdigest()
    line, _slash, _python = core.partition("/")
    place = PLACE / f"{line}-{stamp[:8]}"
    whole, programs = place / "whole", place / "bin"
    if whole.exists():
        return programs
    _run(core, str(pythons[core]), "-m", "venv", "--clear", str(place))
    named = (word for path in requirements for word in ("--requirement", str(path)))
    pip = ("-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile")
    _run(core, str(programs / "python"), *pip, f"ansible-core=={line}.*", *named)
    whole.touch()
    return programs


def _run(core: str, *command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stdout.splitlines()[-3:])
        raise CoreError(f"ansible-core {core} is left out: it cannot be installed. {said}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
