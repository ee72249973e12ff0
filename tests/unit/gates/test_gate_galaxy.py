# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What of galaxy-importer's log fails the gate; the lines are those that it has printed of this collection."""

from __future__ import annotations

import re

import pytest

from tests.gates.galaxy import EXCUSED, complaints, judged, undocumented

LOG = """Importing with galaxy-importer 0.4.44
Getting doc strings via ansible-doc
Loading role gaudi_driver
WARNING: Error when checking meta/execution-environment.yml for dependency files: [Errno 2] No such file
Expected requirements file not present at: /tmp/t/ansible_collections/gaudi3/scale/ee-requirements.txt
ERROR: The import failed for the following reason: No role readme found.
"""
FORMATTED = [
    "WARNING: plugins/module_utils/_node/commands.py:28:5: E704 multiple statements on one line (def)",
    "WARNING: plugins/module_utils/_cards/hl_smi.py:112:34: E203 whitespace before ':'",
    "WARNING: plugins/module_utils/_node/kernel_modules.py:129:37: E203 whitespace before ':'",
    "WARNING: plugins/plugin_utils/_results/upgrade_report.py:36:9: W503 line break before binary operator",
]


def test_errors_and_warnings_of_the_log_fail() -> None:
    mendable, excused = judged(complaints(LOG))
    assert [line.partition(":")[0] for line in mendable] == ["WARNING", "ERROR"]
    assert excused == {}


def test_what_the_formatter_writes_is_counted_and_does_not_fail() -> None:
    mendable, excused = judged(FORMATTED)
    assert mendable == []
    assert sorted(excused.values()) == [1, 1, 2] and set(excused) == set(EXCUSED)


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: plugins/plugin_utils/_node_action.py:66:19: F841 local variable '_interval' is never used",
        "WARNING: plugins/a.py:1:1: E702 multiple statements on one line (semicolon)",
        # No excuse for an error, whatever it quotes.
        "ERROR: plugins/a.py:1:1: E203 whitespace before ':'",
    ],
)
def test_anything_else_fails(line: str) -> None:
    assert judged([line]) == ([line], {})


def test_every_excuse_has_a_reason() -> None:
    assert all(reason and re.compile(pattern) for pattern, reason in EXCUSED.items())


def test_an_empty_page_fails() -> None:
    contents = [
        {"content_type": "module", "content_name": "hpu_info", "doc_strings": None, "readme_html": None},
        {"content_type": "role", "content_name": "gaudi_host", "doc_strings": {}, "readme_html": "<p>text</p>"},
        {"content_type": "module_utils", "content_name": "errors", "doc_strings": None, "readme_html": None},
    ]
    assert undocumented({"docs_blob": {"contents": contents}}) == ["module hpu_info has an empty page"]
    assert undocumented({}) == []
