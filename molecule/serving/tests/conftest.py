# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the files of this scenario share: a model that our trainer trained on a node, exported, and published."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played, ready_for_jobs
from tests.small_trainings import play_in

EXPORT = "/var/lib/gaudi3_scale/jobs/served/model"
REGISTRY = "/shared/models"
# What the extra hf has, for this job alone.
NEEDED = "transformers>=5,<6\ntokenizers>=0.22\nsafetensors>=0.6\n"


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    return ready_for_jobs(tmp_path_factory.mktemp("stack"))


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    return partial(play_in, tmp_path)


@pytest.fixture(scope="session")
def version(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Trained on node1, exported and published as ``served@production``; its version."""
    here = tmp_path_factory.mktemp("model")
    (here / "requirements.txt").write_text(NEEDED, encoding="utf-8")
    trained = play_in(
        here,
        "launch_training",
        gaudi_training_name="served",
        gaudi_training_hosts=["node1"],
        gaudi_training_batch_size=8,
        gaudi_training_max_steps=20,
        gaudi_training_requirements=str(here / "requirements.txt"),
        gaudi_training_export=EXPORT,
    )
    assert trained.status == "successful", trained.screen
    published = play_in(
        here,
        "publish_model",
        gaudi_model_host="node1",
        gaudi_model_name="served",
        gaudi_model_registry=REGISTRY,
        gaudi_model_path=EXPORT,
        gaudi_model_job="served",
        gaudi_model_alias="production",
    )
    assert published.status == "successful", published.screen
    return in_production(nodes["node1"])


def in_production(node: Host) -> str:
    """By the alias's last entry."""
    entries = node.check_output(f"ls {REGISTRY}/models/served/aliases/production").split()
    entry = node.file(f"{REGISTRY}/models/served/aliases/production/{entries[-1]}")
    return str(json.loads(entry.content_string)["version"])
