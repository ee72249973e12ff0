# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Results as JUnit, which every CI shows, and as one exit code; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"
# What XML 1.0 holds, whatever else a node may say.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One thing that was asked of one subject, such as a node. ``outcome`` is one of the words above."""

    subject: str
    name: str
    outcome: str
    message: str = ""
    seconds: float = 0.0


def exit_code(cases: Sequence[Case]) -> int:
    """0 where all passed, 1 where one failed, 2 where nobody could tell, as where nothing was asked."""
    outcomes = {case.outcome for case in cases}
    if FAILED in outcomes:
        return 1
    return 0 if outcomes == {PASSED} else 2


def junit_xml(title: str, cases: Sequence[Case]) -> str:
    """One test suite; what nobody could tell is skipped there, with the reason."""
    failed = sum(case.outcome == FAILED for case in cases)
    unknown = sum(case.outcome == UNKNOWN for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{unknown}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {counts}>",
        f"<testsuite name={_quoted(title)} {counts}>",
        *map(_case, cases),
        "</testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(case: Case) -> str:
    about = f'classname={_quoted(case.subject)} name={_quoted(case.name)} time="{case.seconds:.3f}"'
    if case.outcome == PASSED:
        return f"<testcase {about}/>"
    tag = "failure" if case.outcome == FAILED else "skipped"
    return f"<testcase {about}><{tag} message={_quoted(case.message)}>{_plain(case.message)}</{tag}></testcase>"


def _plain(text: str) -> str:
    return escape(_NO_XML.sub("", text))


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("", text).replace("\n", " "))
