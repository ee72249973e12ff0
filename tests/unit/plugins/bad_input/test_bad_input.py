# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every option of every module under hostile values of its kind: a sentence, or a value that is rightly taken.

``make test`` gives each option a tenth of them, ``make test-long`` all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.specifications import NAMES, specification

RUNNER = "ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.runner"
WITH_OPTIONS = [name for name in NAMES if specification(name) is not None]
FEWEST = 700
RIGHT = ("refused", "accepted")


@pytest.fixture(
    scope="module", params=[pytest.param(10, id="a tenth"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def verdicts(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, list[dict[str, Any]]]:
    place = tmp_path_factory.mktemp("attacked")

    def attack(name: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-m", RUNNER, name, str(place / name), str(request.param)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(WITH_OPTIONS, pool.map(attack, WITH_OPTIONS)))


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_no_hostile_value_breaks_hangs_harms_or_gets_in(verdicts: dict[str, list[dict[str, Any]]], name: str) -> None:
    assert [verdict for verdict in verdicts[name] if verdict["kind"] not in RIGHT] == []


def test_there_are_enough_attacks_and_most_are_refused(
    verdicts: dict[str, list[dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    count = Counter(verdict["kind"] for found in verdicts.values() for verdict in found)
    with capsys.disabled():
        print(f"\n{sum(count.values())} bad inputs over {len(verdicts)} modules: {dict(count)}")
    assert sum(count.values()) >= FEWEST
    assert count["refused"] > count["accepted"]
    # Each option of each module was attacked.
    attacked = {(name, one["option"].partition(".")[0]) for name, found in verdicts.items() for one in found}
    declared = {(name, option) for name in verdicts for option in (specification(name) or _none()).options}
    assert attacked == declared


def _none() -> Any:
    raise AssertionError
