# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make certify``: what a certification asks for, in one table, with what could not be tried here.

Galaxy's importer, the changelog, documentation, licences and a signed release by the gates that check them, and
``ansible-test sanity`` under each ansible-core for which a Python is here. A Python is found by its name on the path;
``PYTHONS="/opt/python3.12/bin/python3.12 ..."`` names others.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "certify"
GATES = ("changelog", "galaxy", "licences", "documents", "ansible-lint", "artifact")
# ansible-core -> the Pythons that it runs on, by Ansible's own table of releases.
CORES: Mapping[str, Sequence[str]] = {
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.12", "3.13", "3.14"),
}
HELD, FAILED, LEFT_OUT = "held", "FAILED", "left out"


@dataclass(frozen=True)
class Row:
    """One thing that is asked for."""

    what: str
    state: str
    why: str = ""


def main() -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    rows = []
    for row in certified():
        rows.append(row)
        sys.stdout.write(f"{row.what:36} {row.state:9} {row.why}\n")
        sys.stdout.flush()
    failed = [row for row in rows if row.state == FAILED]
    left_out = [row for row in rows if row.state == LEFT_OUT]
    held = len(rows) - len(failed) - len(left_out)
    sys.stdout.write(f"\n{held} held, {len(failed)} failed, {len(left_out)} left out\n")
    return len(failed)


def certified() -> Iterator[Row]:
    version = re.search(r"^version: (.+)$", (ROOT / "galaxy.yml").read_text(encoding="utf-8"), re.MULTILINE)
    given = version[1] if version else ""
    yield Row(f"version {given}", HELD if given >= "1" else FAILED, "1.0.0 or newer, for Automation Hub")
    for gate in GATES:
        log = PLACE / f"{gate}.log"
        done = logged([sys.executable, "-m", "tests.gates", gate], log, {})
        yield Row(f"gate {gate}", *(judged(done, log)))
    pythons = found_pythons()
    for core, wanted in CORES.items():
        python = next((pythons[one] for one in wanted if one in pythons), None)
        if python is None:
            yield Row(f"ansible-test sanity, core {core}", LEFT_OUT, f"no Python {' or '.join(wanted)} is here")
        else:
            yield sanity(core, python)


def sanity(core: str, python: Path) -> Row:
    """The gate of that name, with another ansible-core under another Python."""
    place, log = PLACE / f"core-{core}", PLACE / f"sanity-{core}.log"
    what = f"ansible-test sanity, core {core}"
    subprocess.run([python, "-m", "venv", "--clear", place], check=True)
    own = place / "bin" / "python"
    install = [str(own), "-m", "pip", "install", "-qq", "--disable-pip-version-check", f"ansible-core=={core}.*"]
    if logged(install, log, {}):
        return Row(what, LEFT_OUT, f"ansible-core {core} cannot be installed: {log.relative_to(ROOT)}")
    done = logged([str(own), "-m", "tests.gates.sanity"], log, {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"})
    return Row(what, *judged(done, log))


def found_pythons() -> dict[str, Path]:
    """Version -> a Python of it that starts and can make environments."""
    named = os.environ.get("PYTHONS", "").split()
    usual = [f"python3.{minor}" for minor in range(10, 16)]
    found: dict[str, Path] = {}
    for name in [*named, *usual]:
        path = shutil.which(name)
        ask = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False) if path else None
        if path and said and not said.returncode:
            found.setdefault(said.stdout.strip(), Path(path))
    return found


def logged(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    with log.open("a") as screen:
        given = {**os.environ, **environment}
        return subprocess.run(command, cwd=ROOT, env=given, stdout=screen, stderr=screen, check=False).returncode


def judged(status: int, log: Path) -> tuple[str, str]:
    return (FAILED, str(log.relative_to(ROOT))) if status else (HELD, "")


if __name__ == "__main__":
    sys.exit(main())
