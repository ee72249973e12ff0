# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The node library needs PyTorch and Lightning: where they are missing, these tests are left out."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Sequence

import pytest

from job_runs import BRIDGE, SMALL_MODEL, read_lines

MISSING = [name for name in ("torch", "lightning") if importlib.util.find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        terminalreporter.write_line(f"SKIPPED tests/node_library: {', '.join(MISSING)} is not installed")


@pytest.fixture(autouse=True)
def own_environment():
    """Lightning tells its ranks by variables of its own process, which the next test must not take for a launcher's."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Real English: this repository's own license, which every checkout has."""
    apache = Path(__file__).parents[2] / "LICENSE"
    copy = tmp_path / "text" / "license.txt"
    copy.parent.mkdir()
    copy.write_bytes(apache.read_bytes())
    return copy


@pytest.fixture
def train_here(text, tmp_path, monkeypatch):
    """``train_here(*options)`` runs the trainer as the only rank in this process; returns its metric lines."""
    import torch

    from gaudi3_scale.train import train

    for name in ("GAUDI3_SCALE_JOB_DIR", "GAUDI3_SCALE_METRICS", "GAUDI3_SCALE_GLOBAL_BATCH_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)

    def run(*options: object, job: str = "job", source: Sequence[object] = ("--text", text)) -> list[dict]:
        metrics = tmp_path / job / "metrics.jsonl"
        before = len(read_lines(metrics))
        files = [*source, "--job-dir", tmp_path / job, "--metrics", metrics, "--metrics-every", 1]
        try:
            train([str(option) for option in [*files, "--device", "cpu", *SMALL_MODEL, *options]])
        finally:
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()
        return read_lines(metrics)[before:]

    return run


@pytest.fixture
def bridge(monkeypatch):
    """``bridge("core")`` is the module of that name in the stand-in for habana_frameworks; all is undone at the end."""
    import torch

    environment = dict(os.environ)
    monkeypatch.syspath_prepend(BRIDGE)
    yield lambda part: importlib.import_module(f"habana_frameworks.torch.{part}")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    for name in [name for name in sys.modules if name.split(".")[0] == "habana_frameworks"]:
        del sys.modules[name]
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture
def cpu_as_card(bridge, monkeypatch):
    """Each card is the CPU, so that what does not depend on the device runs; returns ``bridge``."""
    import torch

    from gaudi3_scale.gaudi import accelerator

    monkeypatch.setattr(accelerator, "DEVICE", torch.device("cpu"))
    return bridge
