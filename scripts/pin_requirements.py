#!/usr/bin/env python3
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Writes plugins/module_utils/_venv/pin_table.py: versions and hashes of what pip takes for the node library.

`make pins` runs it. uv resolves src/requirements/*.txt for all Pythons of the supported systems at once, so that every
node has the same versions, and its lock file tells the hashes of the files that the package index has. torch and what
only its public builds need are left out: torch comes with the vendor's bundle. What differs from the table before is
printed (pin_differences.py).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib
from packaging.markers import Marker

from .pin_differences import explain

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "src" / "requirements"
TARGET = ROOT / "plugins" / "module_utils" / "_venv" / "pin_table.py"
PYTHONS = ("3.10", "3.11", "3.12")
# The public torch is built for another vendor's cards, and these serve it alone.
NOT_OURS = re.compile(r"torch|triton|(nvidia|cuda)-.*")
HEAD = '''# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What pip takes beside the vendor's bundle, exactly. Written by `make pins`; not edited by hand.

Python {pythons} on Linux x86_64. Hashes are those of the wheels that the public index has.
"""

from __future__ import annotations

from .pins import Pin

PINS = (
'''


def main() -> None:
    roots = sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))
    with tempfile.TemporaryDirectory() as scratch:
        lock = Path(scratch, "pylock.toml")
        resolve(lock, *(REQUIREMENTS / f"{root}.txt" for root in roots))
        locked = {package["name"]: package for package in tomllib.loads(lock.read_text())["packages"]}
        pinned = Path(scratch, "pinned.txt")
        pinned.write_text("".join(f"{name}=={about['version']}\n" for name, about in locked.items()))
        needs = {}
        for root in roots:
            part = Path(scratch, f"pylock.{root}.toml")
            # An extra stands on the base, whose packages need no second name.
            resolve(part, REQUIREMENTS / f"{root}.txt", "--constraint", pinned)
            needs[root] = {package["name"] for package in tomllib.loads(part.read_text())["packages"]}
    rows = [row(about, needs) for name, about in sorted(locked.items()) if not NOT_OURS.fullmatch(name)]
    before = TARGET.read_text()
    TARGET.write_text(HEAD.format(pythons=", ".join(PYTHONS)) + "".join(filter(None, rows)) + ")\n")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=True)
    explain(before, TARGET.read_text())


def resolve(target: Path, *words: str | Path) -> None:
    """One version of each package for all Pythons, as a lock file with hashes."""
    uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config", "--universal"]
    settings = ["--fork-strategy", "fewest", "--python-version", PYTHONS[0], "--only-binary", ":all:"]
    subprocess.run([*uv, *settings, "--format", "pylock.toml", "--output-file", target, *words], check=True)


def row(about: dict[str, Any], needs: dict[str, set[str]]) -> str:
    """One pin as Python; empty where no node needs the package."""
    pythons = [python for python in PYTHONS if applies(about.get("marker", ""), python)]
    if not pythons:
        return ""
    hashes = [wheel["hashes"]["sha256"] for wheel in about["wheels"] if any(fits(wheel["url"], p) for p in pythons)]
    lost = [python for python in pythons if not any(fits(wheel["url"], python) for wheel in about["wheels"])]
    if lost:
        sys.exit(f"{about['name']} {about['version']} has no wheel for Python {', '.join(lost)} on Linux x86_64.")
    marker = "" if len(pythons) == len(PYTHONS) else " or ".join(f"python_version == '{python}'" for python in pythons)
    roots = tuple(root for root, names in needs.items() if about["name"] in names)
    if "base" in roots:
        roots = ("base",)
    return f"    Pin({about['name']!r}, {about['version']!r}, {roots!r}, {marker!r}, {tuple(sorted(hashes))!r}),\n"


def applies(marker: str, python: str) -> bool:
    known = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"}
    about = {**known, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    return not marker or Marker(marker).evaluate({**about, "implementation_name": "cpython"})


def fits(url: str, python: str) -> bool:
    """Whether CPython ``python`` on Linux x86_64 with glibc can use the wheel."""
    _rest, tags, abis, platforms = url.rpartition("/")[2].removesuffix(".whl").rsplit("-", 3)
    here = platforms == "any" or ("manylinux" in platforms and "x86_64" in platforms)
    own = "cp" + python.replace(".", "")
    stable = "abi3" in abis.split(".") and any(
        int(tag[3:] or 0) <= int(own[3:]) for tag in tags.split(".") if tag[:3] == "cp3"
    )
    return here and ("py3" in tags.split(".") or (own in tags.split(".") and own in abis.split(".")) or stable)


if __name__ == "__main__":
    main()
