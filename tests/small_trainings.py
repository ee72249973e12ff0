# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of playbooks on nodes as ``site.yml`` left them, with a job and a model that are small, and their fixtures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played, hosts, played, run

SMALL = {
    "gaudi_training_model": {"layers": 2, "width": 64, "heads": 2, "sequence_length": 64},
    "gaudi_training_max_steps": 40,
    "gaudi_training_follow_interval": 2,
    "gaudi_batch_memory_limit": "120MiB",
    "gaudi_batch_maximum": 256,
    "gaudi_batch_multiple_of": 16,
}


def play_in(directory: Path, playbook: str, **variables: Any) -> Played:
    return played(run(directory, playbook, **{**SMALL, "gaudi_report_target": str(directory), **variables}))


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    return partial(play_in, tmp_path)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")
