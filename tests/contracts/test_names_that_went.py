# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing speaks of a name that the table in docs/developing.md has as one that went."""

from __future__ import annotations

import re
import subprocess

import pytest

from .checkout import ROOT
from .pages import PAGES
from .printed_words import printed

PAGE = ROOT / "docs" / "developing.md"
# The table itself, and records of what was played on files that lay elsewhere then.
MAY_HAVE_THEM = {"docs/developing.md", "tests/gates/proved.json"}

# Translations that no message has any more; the field's words are in the messages themselves.
PHRASES = (
    "begin anew",
    "cannot be gone on",
    "cannot be meant",
    "came to no end",
    "come to its end",
    "could_not_tell",
    "has told its",
    "is no count",
    "is no name of",
    "is no place of",
    "it said nothing",
    "Mend it",
    "not watched",
    "nobody can tell",
    "once mended",
    "read alike",
    "stumbles over",
    "wait for its end",
    "what it never says",
    "what stands in",
    "what stands there",
)
# The verb that follows "which" or "that" with "no": an operator reads "is not a".
IS_NO = re.compile(r"\b(?:which|that|what) (?:is|are|was) no (?!longer\b)")


def table() -> str:
    return PAGE.read_text(encoding="utf-8").partition("## Names that changed")[2]


def went() -> list[str]:
    """A folder or file by its path, and a module by its file."""
    rows = [line.split("|") for line in table().splitlines() if line.startswith("| ")]
    names = [(row[1], name) for row in rows for name in re.findall(r"`([a-z0-9_/.]+)`", row[1])]
    return [name if "/" in name else f"modules/{name}.py" for about, name in names if "/" in name or "module" in about]


def options_that_went() -> list[str]:
    rows = [line.split("|")[1] for line in table().splitlines() if line.startswith("| `gaudi_")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


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


@pytest.mark.parametrize("name", options_that_went())
def test_an_option_that_went_is_nowhere(name: str) -> None:
    found = subprocess.run(["git", "grep", "-lw", name], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    kept = {path for path in found.split() if path not in MAY_HAVE_THEM and not path.startswith("changelogs/")}
    assert kept - {"CHANGELOG.md"} == set()


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_that_went_is_in_no_message_and_on_no_page(phrase: str) -> None:
    texts = {" ".join(text) for texts in printed().values() for text in texts}
    assert [text for text in texts if phrase in text] == []
    assert [page.name for page in PAGES if page != PAGE and phrase in page.read_text(encoding="utf-8")] == []


def test_no_message_says_that_a_thing_is_none() -> None:
    texts = {" ".join(text) for texts in printed().values() for text in texts}
    assert [text for text in texts if IS_NO.search(text)] == []


def test_the_table_is_read() -> None:
    assert len([name for name in went() if name.startswith("roles/")]) >= 6
    assert "modules/job_hosts.py" in went()
    assert len(options_that_went()) >= 5
