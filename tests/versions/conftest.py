# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which versions of ansible-core are played, and a line that says which were left out."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from scripts.ansible_cores import CORES, environment, found_pythons, why_not
from tests.long_rows import SEED, rows_of


@cache
def pythons() -> dict[str, Path]:
    return found_pythons()


def chosen() -> list[str]:
    """Those that GAUDI_ANSIBLE_CORES names, or the oldest and the newest for which a Python is here.

    In a run of the gates one of the two, by its number, which is another one in the next run.
    """
    named = os.environ.get("GAUDI_ANSIBLE_CORES", "").split()
    here = [core for core in CORES if core in pythons()]
    ends = sorted({*here[:1], *here[-1:]}, key=[*CORES].index)
    return named or ([*rows_of(ends, len(ends))] if SEED in os.environ and ends else ends)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "programs" in metafunc.fixturenames:
        metafunc.parametrize("programs", chosen(), indirect=True, scope="module")


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> Path:
    """The directory of ansible-playbook and its like, of one ansible-core; fails where that one cannot be had."""
    return environment(request.param, pythons())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    played, missing = chosen(), [f"{core} ({why_not(core)})" for core in CORES if core not in pythons()]
    others = [core for core in CORES if core in pythons() and core not in played]
    terminalreporter.write_line(
        f"ansible-core {', '.join(played)}; not on nodes here: {', '.join([*others, *missing]) or 'none'}"
    )
