# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The page for those who come from optimum-habana has the switches that the program answers."""

from __future__ import annotations

from gaudi3_scale.fine_tune.switches import GROUPS, SWITCHES
from scripts.fine_tune_switches import PAGE, render


def test_the_tables_are_made_from_what_the_program_answers() -> None:
    assert render() in PAGE.read_text(encoding="utf-8"), "docs/optimum_habana.md is out of date; run: make readmes"


def test_no_switch_stands_twice() -> None:
    assert sum(len(switches) for _title, switches in GROUPS) == len(SWITCHES)
