# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Small models and data for all tests of fine-tuning, made once."""

import os

import pytest


@pytest.fixture(scope="session")
def parts(tmp_path_factory):
    """The directory with ``models`` and ``data``."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from benchmarks.fine_tuned.small_parts import write_data, write_models

    place = tmp_path_factory.mktemp("fine-tuned")
    write_models(place / "models")
    write_data(place / "data")
    return place


@pytest.fixture
def tune_here(parts, tmp_path, monkeypatch):
    """``tune_here(words)`` runs the program in this process, in words with the models' and the data's directories."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("RANK", "GAUDI3_SCALE_JOB_DIR", "GAUDI3_SCALE_METRICS", "GAUDI3_SCALE_PROGRESS_DIR"):
        monkeypatch.delenv(name, raising=False)

    def tune(words):
        from gaudi3_scale.fine_tune.__main__ import fine_tune

        common = ["--output_dir", str(tmp_path / "out"), "--use_cpu", "--disable_tqdm", "True", "--logging_steps", "1"]
        fine_tune([*words.format(m=parts / "models", d=parts / "data", t=tmp_path).split(), *common])
        return tmp_path / "out"

    return tune
