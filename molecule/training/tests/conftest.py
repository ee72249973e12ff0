# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share: the nodes as ``site.yml`` left them, runs of playbooks, and their reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts

from .runs import Played
from .runs import play as play_in


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    return partial(play_in, tmp_path)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")
