# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What was tried under which ansible-core and Python, and when: ``tried.json``, which ``make certify`` writes, and the
page of it, docs/tried.md, which ``python -m scripts.tried`` writes.

A record is made by the run that tried it, also where it failed; nobody writes one by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .ansible_cores import CORES

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("tried.json")
PAGE = ROOT / "docs" / "tried.md"
HEAD = """<!-- `make readmes` writes this file from scripts/tried.json, which `make certify` writes. -->

# What was tried on what

The gates that need no nodes, under each supported ansible-core and Python. Each row was written by the run that tried
it, whether it held or failed, and stands until the same is tried again. A combination that nobody has tried says so: it
may work, and nothing here shows that it does. The other gates run under the checkout's own ansible-core alone; the gate
`versions` also plays the oldest and the newest on nodes ([developing](developing.md)).

`make certify` tries each ansible-core with the oldest Python for it that is here, `python -m scripts.certify 2.17` one
of them, `python -m scripts.certify 2.20/3.13` one with that Python, and
`python -m scripts.certify 2.17 tests/contracts/test_roles.py` a part of it: then the row has that part's name."""
HEADER = ("ansible-core", "Python", "What", "State", "On", "Collection")
# Programs of the environment are asked, not the checkout's own.
_ASK = "import sys, ansible.release as r; print(r.__version__, '%d.%d.%d' % sys.version_info[:3])"


@dataclass(frozen=True)
class Tried:
    """One thing that was run: ``what`` by its name or its paths, ``state`` as certify prints it, ``day`` in UTC."""

    core: str
    python: str
    what: str
    state: str
    day: str
    collection: str


def main() -> int:
    text = render(read(RECORD))
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{PAGE.relative_to(ROOT)} written\n")
    return 0


def versions_of(python: Path) -> tuple[str, str]:
    """The exact versions of ansible-core and of Python in an environment."""
    done = subprocess.run([str(python), "-c", _ASK], capture_output=True, text=True, check=True)
    core, _space, own = done.stdout.strip().partition(" ")
    return core, own


def read(path: Path) -> list[Tried]:
    return [Tried(**one) for one in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def record(new: Iterable[Tried], path: Path) -> None:
    """Keep what a run has tried in the place of what earlier ones said of the same."""
    text = json.dumps([asdict(one) for one in together(read(path), new)], indent=2)
    path.write_text(f"{text}\n", encoding="utf-8")


def together(old: Iterable[Tried], new: Iterable[Tried]) -> list[Tried]:
    """The latest word on each thing, by lines of versions: a newer 2.19 stands for an older one."""
    latest = {_same(one): one for one in [*old, *new]}
    return [latest[key] for key in sorted(latest)]


def _same(one: Tried) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    return _line(one.core), _line(one.python), one.what


def _line(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def render(tried: Sequence[Tried], cores: Mapping[str, Sequence[str]] = CORES) -> str:
    """The whole page."""
    lines = {(_line(one.core), _line(one.python)) for one in tried}
    rows = [(_same(one), (one.core, one.python, one.what, one.state, one.day, one.collection)) for one in tried]
    rows += [
        ((_line(core), _line(python), ""), (core, python, "-", "not tried", "-", "-"))
        for core, pythons in cores.items()
        for python in pythons
        if (_line(core), _line(python)) not in lines
    ]
    cells = [HEADER, ("---",) * len(HEADER), *(row for _key, row in sorted(rows))]
    return "\n".join([HEAD, "", *(f"| {' | '.join(row)} |" for row in cells)]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
