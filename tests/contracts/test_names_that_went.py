# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing speaks of a name that the table in docs/developing.md has as one that went."""

from __future__ import annotations

import re
import subprocess

import pytest

from .checkout import ROOT

PAGE = ROOT / "docs" / "developing.md"
# The table itself, and records of what was played on files that lay elsewhere then.
MAY_HAVE_THEM = {"docs/developing.md", "tests/gates/proved.json"}


def table() -> str:
    return PAGE.read_text(encoding="utf-8").partition("## Names that changed")[2]


def went() -> list[str]:
    """A folder or file by its path, and a module by its file."""
    rows = [line.split("|") for line in table().splitlines() if line.startswith("| ")]
    names = [(row[1], name) for row in rows for name in re.findall(r"`([a-z0-9_/.]+)`", row[1])]
    return [name if "/" in name else f"modules/{name}.py" for about, name in names if "/" in name or "module" in about]


def tracked() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("name", went())
def test_a_name_that_went_is_nowhere(name: str) -> None:
    place = re.compile(rf"(?:^|/){re.escape(name)}(?:/|$)")
    assert [path for path in tracked() if place.search(path)] == []
    # As Python, Ansible and a person write it; a module may be a common word, and is looked for as a task has it.
    before, _slash, last = name.rpartition("/")
    prefix = {"roles": r"(?<!\w)", "modules": r"gaudi3\.scale\."}.get(before, rf"{before.rpartition('/')[2]}[./]")
    spoken = prefix + re.escape(last.removesuffix(".py")) + r"(?!\w)"
    found = subprocess.run(["git", "grep", "-lP", spoken], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    kept = {path for path in found.split() if path not in MAY_HAVE_THEM and not path.startswith("changelogs/")}
    assert kept - {"CHANGELOG.md"} == set()


def test_the_table_is_read() -> None:
    assert len([name for name in went() if name.startswith("roles/")]) >= 6
    assert "modules/job_hosts.py" in went()
