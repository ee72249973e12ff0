# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make certify``: what a certification asks for, in one table, with what could not be tried here.

Galaxy's importer, the changelog, documentation, licenses and a signed release by the gates that check them, and under
each ansible-core for which a Python is here (scripts/ansible_cores.py says where it is looked for) ``ansible-test
sanity``, the contracts and the tests of plugins. ``python -m scripts.certify 2.17 2.21/3.13`` plays these two cores
alone, the second with that Python, and with paths of tests behind them these tests alone. What was tried under which
core is kept (tried.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from .ansible_cores import CORES, CoreError, environment, found_pythons
from .tried import RECORD, Tried, record, versions_of

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


def main(words: Sequence[str]) -> int:
    cores = [word for word in words if word[0].isdigit()]
    tests = [word for word in words if word not in cores]
    if not words:
        shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in under_each_core(cores or [*CORES], tests) if words else certified():
        rows.append(row)
        sys.stdout.write(f"{row.what:36} {row.state:9} {row.why}\n")
        sys.stdout.flush()
    failed = [row for row in rows if row.state == FAILED]
    left_out = [row for row in rows if row.state == LEFT_OUT]
    held = len(rows) - len(failed) - len(left_out)
    sys.stdout.write(f"\n{held} held, {len(failed)} failed, {len(left_out)} left out\n")
    return len(failed)


def certified() -> Iterator[Row]:
    given = collection_version()
    yield Row(f"version {given}", HELD if given >= "1" else FAILED, "1.0.0 or newer, for Automation Hub")
    for gate in GATES:
        log = PLACE / f"{gate}.log"
        done = logged([sys.executable, "-m", "tests.gates", gate], log, {})
        yield Row(f"gate {gate}", *(judged(done, log)))
    yield from under_each_core([*CORES])


def collection_version() -> str:
    version = re.search(r"^version: (.+)$", (ROOT / "galaxy.yml").read_text(encoding="utf-8"), re.MULTILINE)
    return version[1] if version else ""


def under_each_core(cores: Sequence[str], tests: Sequence[str] = ()) -> Iterator[Row]:
    pythons = found_pythons(cores)
    for core in cores:
        try:
            programs = environment(core, pythons, [REQUIREMENTS])
        except CoreError as error:
            yield Row(f"ansible-core {core}", LEFT_OUT, str(error))
            continue
        own = programs / "python"
        exact, python = versions_of(own)
        for what, command in tried_under(str(own), tests):
            log = PLACE / f"{re.sub('[^a-z]+', '-', what.partition(',')[0])[:40]}-{core.replace('/', '-')}.log"
            path = {"PATH": f"{programs}:{os.environ['PATH']}"}
            state, why = judged(logged(command, log, path), log)
            record([Tried(exact, python, what, state, today(), collection_version())], RECORD)
            yield Row(f"{what}, core {core}", state, why)


def tried_under(python: str, tests: Sequence[str]) -> list[tuple[str, list[str]]]:
    """What is tried under one core, by its name: all of it, or the given tests."""
    play = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if tests:
        return [(" ".join(tests), [*play, *tests])]
    sanity = [python, "-m", "tests.gates.sanity"]
    return [("ansible-test sanity", sanity), ("contracts, plugins", [*play, *WITHOUT_NODES])]


def today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def logged(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    with log.open("w") as screen:
        given = {**os.environ, **environment}
        return subprocess.run(command, cwd=ROOT, env=given, stdout=screen, stderr=screen, check=False).returncode


def judged(status: int, log: Path) -> tuple[str, str]:
    return (FAILED, str(log.relative_to(ROOT))) if status else (HELD, "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
