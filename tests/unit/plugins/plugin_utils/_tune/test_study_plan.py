# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a study's job is told, and the text that its nodes read."""

from __future__ import annotations

import hashlib
import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.study import study_from
from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_plan import (
    shown_storage,
    storage_words,
    study_plan,
    study_text,
)

PRIVATE = "/etc/gaudi3_scale/tune/a"
STUDY = {
    "name": "a",
    "objective": "throughput",
    "trials": "10",
    "steps": 30,
    "tokens": None,
    "pruner": "median",
    "space": {"batch_size": {"low": 8, "high": 32}},
    "flags": {"PT_HPU_X": ["1", None]},
    "command": ["-m", "gaudi3_scale.train"],
    "built_in": True,
    "processes": 8,
    "device": "hpu",
    "timeout": 60,
    "sequence_length": 256,
    "environment": {"WANDB_API_KEY": "planted-key"},
    "probe": None,
}


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("postgresql+psycopg://user:planted@db:5432/optuna", "postgresql+psycopg://db:5432/optuna"),
        ("mysql://user:pl@nted/x@db/optuna?password=planted", "mysql://db/optuna"),
        ("sqlite:////shared/optuna.db", "sqlite:////shared/optuna.db"),
        ("/shared/journal", "/shared/journal"),
    ],
)
def test_a_storage_is_told_without_its_password(storage, shown):
    assert shown_storage(storage, "192.0.2.1", 29510) == shown
    assert storage_words(storage, PRIVATE) == ["--storage", f"{PRIVATE}/storage"]


@pytest.mark.parametrize(
    ("address", "where"), [("192.0.2.1", "grpc://192.0.2.1:29510"), ("fd00::1", "grpc://[fd00::1]:29510")]
)
def test_the_keeper_is_reached_by_its_own_address_and_with_certificates(address, where):
    assert shown_storage("", address, 29510) == where
    assert storage_words("", PRIVATE) == ["--credentials", PRIVATE]


def test_what_anybody_may_see_has_no_secret_and_the_text_is_the_whole_study():
    planned, text = study_plan(STUDY), study_text(STUDY)
    assert planned["seconds"] == 1200.0
    assert {"PT_HPU_X": "1"} in planned["flag_sets"]
    assert planned["digest"] == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert "planted-key" not in json.dumps(planned)
    assert study_from(json.loads(text)) == study_from(STUDY)


def test_a_study_that_cannot_be_meant_is_one_sentence():
    with pytest.raises(GaudiError, match="gaudi_tune_trials"):
        study_plan({**STUDY, "trials": 0})
