# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``make test`` counts of a gate, by the JUnit files of its test runners."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.counting import Counts, count, reasons

TESTS = """
import pytest

def test_that_holds(): pass

@pytest.mark.parametrize("value", [1, 2])
def test_that_fails(value):
    assert value == 3, "it is " + str(value)

@pytest.fixture
def broken(): raise OSError("no disk")

def test_without_its_fixture(broken): pass

@pytest.mark.skip
def test_of_another_day(): pass
"""
# As ansible-test writes them, a file for each test.
SANITY = {
    "pep8": '<testsuites><testsuite tests="1"><testcase classname="sanity" name="pep8"/></testsuite></testsuites>',
    "pylint": '<testsuites><testsuite tests="1" failures="1"><testcase classname="sanity" name="pylint">'
    '<failure message="a.py:1: unused">x</failure></testcase></testsuite></testsuites>',
}


@pytest.fixture(scope="module")
def junit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pytest itself leaves of some tests."""
    place = tmp_path_factory.mktemp("tests")
    (place / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={place}/junit/0.xml"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    subprocess.run([*command, "test_some.py"], cwd=place, env=environment, capture_output=True, check=False)
    return place / "junit"


def test_pytest(junit: Path) -> None:
    assert count(junit, succeeded=False) == Counts(1, 3, 1)


def test_a_runner_that_was_content_inside_a_gate_that_was_not(tmp_path: Path) -> None:
    (tmp_path / "0.xml").write_text('<testsuite tests="7" failures="0" errors="0" skipped="0"/>')
    assert count(tmp_path, succeeded=True) == Counts(7)
    assert count(tmp_path, succeeded=False) == Counts(7, 1)


def test_a_gate_without_a_test_runner_is_one_check(tmp_path: Path) -> None:
    assert count(tmp_path / "none", succeeded=True) == Counts(1)
    assert count(tmp_path / "none", succeeded=False) == Counts(0, 1)


def test_sanity(tmp_path: Path) -> None:
    for name, text in SANITY.items():
        (tmp_path / f"{name}.xml").write_text(text)
    assert count(tmp_path, succeeded=False) == Counts(1, 1)
    assert reasons(tmp_path, "") == ["FAILED sanity::pylint - a.py:1: unused"]


def test_a_runner_that_was_ended_while_it_wrote(tmp_path: Path) -> None:
    (tmp_path / "0.xml").write_text('<testsuite tests="7" fail')
    assert count(tmp_path, succeeded=False) == Counts(0, 1)


def test_the_closing_line() -> None:
    assert str(Counts(3, 0) + Counts(1, 2)) == "4 passed, 2 failed"
    assert str(Counts(3, 0, 1)) == "3 passed, 0 failed, 1 skipped"


def test_the_summary_names_what_failed_and_why(junit: Path) -> None:
    found = reasons(junit, "")
    assert found[0] == "FAILED test_some::test_that_fails[1] - AssertionError: it is 1"
    assert "OSError: no disk" in found[2]


def test_of_a_linter_the_summary_has_the_lines_that_say_why(tmp_path: Path) -> None:
    output = "ok\nE         msg: No package matching 'gnupg'\n\x1b[31mERROR nothing was made\x1b[0m\n" * 2
    assert reasons(tmp_path, output) == ["E msg: No package matching 'gnupg'", "ERROR nothing was made"]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "Created x.tar.gz\nroles/a/b.yml:11: yaml[line-length]: Line too long\nFailed: 1 failure(s)\n",
            "roles/a/b.yml:11:",
        ),
        (
            "$ build\ndocs/monitoring.md:19: WARNING: Non-consecutive header\n\nIt ended with 1.\n",
            "docs/monitoring.md:19:",
        ),
        ("$ reuse lint --quiet\n\nIt ended with 1.\n", "$ reuse lint"),
    ],
)
def test_a_gate_that_failed_is_never_without_a_reason(tmp_path: Path, output: str, line: str) -> None:
    assert reasons(tmp_path, output)[0].startswith(line)


def test_a_long_log_is_cut_to_a_few_lines(tmp_path: Path) -> None:
    found = reasons(tmp_path, "".join(f"FAILED {number} {'x' * 500}\n" for number in range(50)))
    assert len(found) == 4 and max(map(len, found)) <= 150
