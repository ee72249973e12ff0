# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The page of life cycles says what the code says, and every ansible-core that the collection is for is on it."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._releases.life_cycle import CORE
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.stack import find_row

from scripts.ansible_cores import CORES
from scripts.life_cycles import PAGE, render


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "docs/life_cycles.md is out of date; run: make readmes"


def test_every_core_of_the_collection_has_a_row() -> None:
    assert all(find_row(CORE, core) for core in CORES)
