# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An exported model of a few bytes with its record, as `gaudi3_scale export` leaves one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "dtype": "bfloat16",
}
FILES = {
    "config.json": json.dumps(CONFIG).encode(),
    "model-00001.safetensors": bytes(range(256)) * 4,
    "tokenizer.json": b'{"model": {"type": "BPE"}}',
}


def record_of(directory: Path) -> dict[str, dict[str, object]]:
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != "gaudi3_scale_export.json":
            content = path.read_bytes()
            name = path.relative_to(directory).as_posix()
            found[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return found


def write_record(directory: Path) -> None:
    content = {"format": 1, "files": record_of(directory)}
    (directory / "gaudi3_scale_export.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    directory = tmp_path / "exports/llama"
    directory.mkdir(parents=True)
    for name, content in FILES.items():
        (directory / name).write_bytes(content)
    write_record(directory)
    return directory
