# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks tell each other data: torch's collectives of objects unpickle whatever a rank, or who speaks for it, sends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .checkout import ROOT, name_of

OBJECTS = re.compile(r"\b(all_gather|broadcast|gather|scatter|send|recv)_object(_list|s)?\b|scatter_object_list")


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=name_of)
def test_no_objects_are_exchanged(path: Path) -> None:
    assert not OBJECTS.search(path.read_text(encoding="utf-8"))
