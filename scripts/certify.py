# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make certify``: what a certification asks for, in one table, with what could not be tried here.

Galaxy's importer, the changelog, documentation, licenses and a signed release by the gates that check them, and under
each ansible-core for which a Python is here (scripts/ansible_cores.py says where it is looked for) ``ansible-test
sanity``, the contracts and the tests of plugins. ``python -m scripts.certify 2.17 2.21`` plays these two cores alone.
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

from .ansible_cores import CORES, CoreError, environment, found_pythons

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "certify"
GATES = ("changelog", "galaxy", "licenses", "documents", "ansible-lint", "artifact")
# Of the unit tests, those of what Ansible itself loads, and of a module as Ansible runs it.
WITHOUT_NODES = (
    "tests/contracts",
    *(
        f"tests/unit/plugins/{part}"
        for part in ("action", "bad_input", "callback", "inventory", "modules", "plugin_utils")
    ),
    "tests/unit/plugins/module_utils/_cost",
    "tests/unit/plugins/module_utils/_exporter",
)
REQUIREMENTS = ROOT / "requirements" / "without_nodes.txt"
HELD, FAILED, LEFT_OUT = "held", "FAILED", "left out"


@dataclass(frozen=True)
class Row:
    """One thing that is asked for."""

    what: str
    state: str
    why: str = ""


def main(cores: Sequence[str]) -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    rows = []
    for row in under_each_core(cores) if cores else certified():
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
    yield from under_each_core([*CORES])


def under_each_core(cores: Sequence[str]) -> Iterator[Row]:
    pythons = found_pythons()
    for core in cores:
        try:
            programs = environment(core, pythons, [REQUIREMENTS])
        except CoreError as error:
            yield Row(f"ansible-core {core}", LEFT_OUT, str(error))
            continue
        own = str(programs / "python")
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        for what, command in (
            ("ansible-test sanity", [own, "-m", "tests.gates.sanity"]),
            ("contracts, plugins", [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WITHOUT_NODES]),
        ):
            log = PLACE / f"{what.partition(',')[0].replace(' ', '-')}-{core}.log"
            yield Row(f"{what}, core {core}", *judged(logged(command, log, path), log))


def logged(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    with log.open("a") as screen:
        given = {**os.environ, **environment}
        return subprocess.run(command, cwd=ROOT, env=given, stdout=screen, stderr=screen, check=False).returncode


def judged(status: int, log: Path) -> tuple[str, str]:
    return (FAILED, str(log.relative_to(ROOT))) if status else (HELD, "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
