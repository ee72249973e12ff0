# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Small models, trained here, in every format that can be exported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

MISSING = [name for name in ("safetensors", "tokenizers", "transformers") if importlib.util.find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        terminalreporter.write_line(f"SKIPPED tests/node_library/export: {', '.join(MISSING)} is not installed")


@pytest.fixture
def exported(tmp_path):
    """``exported(checkpoint, **options)`` exports into a directory ``out`` and returns what was told."""
    from gaudi3_scale.export.publish import ExportOptions, export

    def run(checkpoint: Path, out: str = "out", **options: object) -> list[str]:
        told: list[str] = []
        export(ExportOptions(checkpoint, tmp_path / out, **options), told.append)
        return told

    return run


@pytest.fixture
def trained(train_here, tmp_path) -> Path:
    """A checkpoint of the built-in model, two steps old, in several of torch's files."""
    train_here("--max-steps", 2, "--layers", 2)
    return tmp_path / "job" / "checkpoints" / "step-00000002"
