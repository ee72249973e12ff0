# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One stand-in for all tests of this directory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import cluster

from . import stand_in


@pytest.fixture(scope="session")
def node() -> Iterator[stand_in.StandIn]:
    """A node with real dnf and rpm; its sandbox is removed again where it was made for this run."""
    made, new = stand_in.make()
    yield made
    if new:
        cluster.down(stand_in.NAME)
