# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a table of troubles quotes is what the code prints: who searches a page for a message finds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pages import PAGES, tables
from .printed_words import unprinted

HEADS = ("Error", "Error or warning", "Message", "Symptom")
# What other programs print, also within a message of ours.
FOREIGN = {
    "missing required arguments": "ansible-core, of a role's argument specification",
    "source found in gaudi_cost_platforms": "the same",
    "Hash Sum mismatch": "apt",
    "Host key verification failed": "ssh",
    "tls: certificate required": "Go's crypto/tls, in Prometheus",
    "device or resource busy": "the kernel's EBUSY, in the vendor's libraries",
    "Read-only file system": "the C library, for EROFS",
    "No space left on device": "the C library, for ENOSPC",
    "No such file or directory": "the C library, for ENOENT",
    "Permission denied": "the C library, for EACCES",
    "Connection refused": "the C library, for ECONNREFUSED",
    "target is busy": "umount",
    "access denied by server": "mount.nfs",
    "all requirements must have their versions pinned with ==": "pip",
    "these package versions have conflicting dependencies": "pip",
}
# Words that examples fill in, and that no message of ours has there.
EXAMPLES = {"a", "clock", "fio", "flags", "gaudi", "habana", "jane", "llama", "model", "mpirun", "none", "performance"}
EXAMPLES |= {"powersave", "ray", "schedule", "slurm", "torchrun", "write", "xfs"}


def quotes(page: Path) -> Iterator[str]:
    """The code in the first column of its tables of troubles, and the messages that begin an entry of a list."""
    text = page.read_text(encoding="utf-8")
    for head, rows in tables(text):
        if head[0] in HEADS:
            for row in rows:
                yield from re.findall(r"`([^`]+)`", row[0])
    yield from re.findall(r"^- \*\*`([^`]+)`\*\*", text, re.MULTILINE)


QUOTES = [(page.name, quote) for page in PAGES for quote in quotes(page)]


@pytest.mark.parametrize(("page", "quote"), [pytest.param(*one, id=f"{one[0]}: {one[1][:60]}") for one in QUOTES])
def test_a_quoted_message_is_printed(page: str, quote: str) -> None:
    assert unprinted(ours_of(quote), EXAMPLES) == ()


def ours_of(quote: str) -> list[str]:
    """The parts of a quote between each ``…``, without what others print."""
    return re.split("|".join(["…", *map(re.escape, FOREIGN)]), quote)


@pytest.mark.parametrize("phrase", FOREIGN)
def test_what_others_print_is_quoted(phrase: str) -> None:
    assert any(phrase in quote for _page, quote in QUOTES)


@pytest.mark.parametrize(
    "quote",
    [
        "docker with … came to no end within 120 s",
        "port 7 is in use by a thing that nobody knows",
        "settings: 'mount_uverb' is no setting of the vendor's container runtime",
    ],
)
def test_what_nothing_prints_any_more_is_found(quote: str) -> None:
    assert unprinted(ours_of(quote), EXAMPLES) != ()
