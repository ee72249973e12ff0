# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._model import bucket
from ansible_collections.gaudi3.scale.plugins.module_utils._model.registry import open_store
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import ModelOptions

from tests.s3_server import bucket_served

FILES = {
    "model-00001-of-00002.safetensors": bytes(range(256)) * 40,
    "model-00002-of-00002.safetensors": bytes(reversed(range(256))) * 30,
    "config.json": b'{"architectures": ["LlamaForCausalLM"]}',
    "tokenizer/tokenizer.json": b'{"version": "1.0"}' * 20,
}


@pytest.fixture
def exported(tmp_path):
    """A directory with a model."""
    for name, content in FILES.items():
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "export"


@pytest.fixture
def s3(monkeypatch):
    with bucket_served("models") as server:
        server.put_into(monkeypatch)
        monkeypatch.setattr(bucket, "ATTEMPTS", 1)
        yield server


@pytest.fixture(params=["directory", "bucket"])
def place(request, tmp_path):
    """A registry's place: both kinds behave alike."""
    if request.param == "directory":
        return str(tmp_path / "registry")
    request.getfixturevalue("s3")
    return "s3://models/site"


@pytest.fixture
def store(place):
    return open_store(place)


@pytest.fixture
def options(place, tmp_path):
    """Those of a model in that registry, with others by keyword."""

    def with_others(**others):
        given = {"registry": place, "name": "llama", "signing_key": str(tmp_path / "keys" / "key.pem"), **others}
        return ModelOptions(**given)

    return with_others
