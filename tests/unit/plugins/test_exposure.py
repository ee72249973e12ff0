# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What systemd itself says of the units that we write: ``systemd-analyze security``, from 0 (safe) to 10 (unsafe)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.unit_exposure import BEGIN, END, PAGE, UNITS, Unit, exposure

needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
# Of another systemd than the page's.
NEAR = 0.3
_HARDENING = re.compile(
    r"(NoNew|Protect|Private|Restrict|Capability|SystemCall|IPAddress|Device|Memory|Lock|UMask|KeyringMode|RemoveIPC"
    r"|DynamicUser|ProcSubset|BindReadOnly|ReadWrite)[A-Za-z]*="
)


each = pytest.mark.parametrize("unit", UNITS, ids=[unit.name for unit in UNITS])


@needs_systemd
@each
def test_none_is_above_five_and_the_page_tells_its_exposure(unit: Unit) -> None:
    found = exposure(unit.text())
    assert found <= 5.0
    (row,) = [line for line in page_rows() if line.startswith(f"| {unit.name} |")]
    _empty, _name, before, now, left, _end = (cell.strip() for cell in row.split("|"))
    assert (float(before), left) == (unit.before, unit.left)
    assert abs(float(now) - found) <= NEAR


def test_the_page_tells_of_no_other_units() -> None:
    assert len(page_rows()) == len(UNITS)


def page_rows() -> list[str]:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return table.strip().splitlines()[2:]


@needs_systemd
@each
def test_it_is_the_hardening_that_keeps_it_there(unit: Unit) -> None:
    rest = [line for line in unit.text().splitlines() if not _HARDENING.match(line)]
    assert exposure("\n".join(rest)) >= 9.0


@needs_systemd
@each
def test_systemd_knows_every_line(unit: Unit, tmp_path: Path) -> None:
    path = tmp_path / "gaudi3-scale-x.service"
    path.write_text(unit.text(), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert not [line for line in done.stderr.splitlines() if f"{path}:" in line]
