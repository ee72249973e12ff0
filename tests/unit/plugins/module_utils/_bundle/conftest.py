# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One small bundle for all tests, and a node for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.tests.unit.small_bundle import SmallBundle, SmallNode
from ansible_collections.gaudi3.scale.tests.unit.small_repository import TOOLS


@pytest.fixture(scope="session")
def small_bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallBundle]:
    lost = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lost:
        pytest.skip(f"needs {', '.join(lost)}")
    bundle = SmallBundle(tmp_path_factory.mktemp("small"))
    yield bundle
    bundle.close()


@pytest.fixture
def node(small_bundle: SmallBundle, tmp_path: Path) -> SmallNode:
    """A virgin node, and a bundle of its own to be changed."""
    return SmallNode(tmp_path / "node", small_bundle.copy(tmp_path / "www"))
