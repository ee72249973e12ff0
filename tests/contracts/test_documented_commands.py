# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every command in the documents names a playbook, a program and variables that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED

from .checkout import PLAYBOOKS, ROLES, ROOT, read_yaml
from .proofs import TABLE, in_every_run

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
NAMES = {path.stem for path in PLAYBOOKS}
RULEBOOKS = {path.stem for path in (ROOT / "extensions" / "eda" / "rulebooks").glob("*.yml")}
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
OPTIONS = {*SHARED} | {
    name
    for role in ROLES
    for entry in read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"].values()
    for name in entry.get("options") or {}
}
# The play's own keywords: a limit of a rollout, the size of its batches.
KEYWORDS = {"gaudi_upgrade_serial", "gaudi_upgrade_max_fail_percentage"}


def commands(page: Path) -> Iterator[str]:
    """Each command of a page: in blocks of a console, and in code that is a whole command."""
    text = page.read_text(encoding="utf-8")
    # Blocks and what is between them by turns; the first word of a block says what it is.
    for block in text.split("```")[1::2]:
        kind, _newline, inside = block.partition("\n")
        if kind in ("", "console", "bash", "sh"):
            yield from (line.strip() for line in re.sub(r"\\\n\s*", " ", inside).splitlines())
    yield from re.findall(r"`(ansible-playbook [^`]+)`", text)


def played(page: Path) -> list[str]:
    return [line for line in commands(page) if line.startswith("ansible-playbook ")]


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_a_playbook_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"gaudi3\.scale\.([a-z_]+)\b", "\n".join(commands(page))))
    known = NAMES | {role.name for role in ROLES} | RULEBOOKS | {"all", "git"}
    assert named - known == set()
    for name in re.findall(r"`([a-z_]+)\.yml`", text):
        if name in {"site", "driver"} or "_" in name:
            # Beside playbooks: a variables file that the reader writes, a file that a report writes, those of roles.
            assert name in NAMES | {"controller_objects", "qualified_hosts"} or any(
                path for path in (ROOT / "roles").rglob(f"{name}.yml")
            ), name


@each_page
def test_a_playbook_that_a_page_plays_is_played_in_every_run(page: Path) -> None:
    """By a test that the table of capabilities names for it; tests/contracts/test_coverage.py holds the table."""
    named = {name for line in played(page) for name in re.findall(r"(?:gaudi3\.scale\.|playbooks/)([a-z_]+)", line)}
    assert named <= TABLE["playbooks"].keys()
    proofs = {name: TABLE["playbooks"][name]["success"] for name in named}
    assert sorted(name for name, tests in proofs.items() if not any(map(in_every_run, tests))) == []


@each_page
def test_a_command_gives_options_that_exist(page: Path) -> None:
    for line in played(page):
        words = shlex.split(line, comments=True)
        for given in [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-e", "--extra-vars")]:
            if given.startswith("@"):
                continue
            names = json.loads(given) if given.startswith("{") else {given.partition("=")[0]}
            ours = {name for name in names if name.startswith("gaudi_")}
            assert ours <= OPTIONS | KEYWORDS, f"{line}: {ours - OPTIONS}"


@each_page
def test_a_target_of_make_exists(page: Path) -> None:
    for line in commands(page):
        if line.startswith("make "):
            assert line.split()[1] in TARGETS, line


@each_page
def test_a_program_of_ours_exists(page: Path) -> None:
    for line in commands(page):
        for module in re.findall(r"python3? -m ((?:benchmarks|sandbox|scripts|tests)[\w.]*)", line):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").is_file() or path.is_dir(), line
