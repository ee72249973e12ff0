# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One real vLLM for all tests, with a model that our exporter has written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny_llama import write_tiny_llama
from tests.vllm_server import VllmServer

KEY = "of-these-tests"


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    trained, exported = write_tiny_llama(place / "trained"), place / "exported"
    export = [sys.executable, "-m", "gaudi3_scale", "export", str(trained), str(exported), "--model", str(trained)]
    subprocess.run(export, check=True)
    return exported


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with VllmServer(model, tmp_path_factory.mktemp("vllm"), ["--served-model-name", "tiny"], KEY) as running:
        yield running
