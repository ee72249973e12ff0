# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job whose model is exported at its end, by its account, on the node that has its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from testinfra.host import Host

from tests.sandbox_nodes import Played

MODEL = "/var/lib/gaudi3_scale/jobs/exported/model"
# What the extra hf has, for this job alone.
NEEDED = "transformers>=5,<6\ntokenizers>=0.22\nsafetensors>=0.6\n"


def test_a_model_is_exported_once_its_job_has_succeeded(
    play: Callable[..., Played], nodes: dict[str, Host], tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text(NEEDED, encoding="utf-8")
    asked = {
        "gaudi_training_name": "exported",
        "gaudi_training_batch_size": 8,
        "gaudi_training_max_steps": 4,
        "gaudi_training_requirements": str(tmp_path / "requirements.txt"),
        "gaudi_training_export": MODEL,
    }
    first = play("launch_training", **asked)
    assert first.status == "successful", first.screen
    there = [node for node in nodes.values() if node.file(f"{MODEL}/config.json").exists]
    assert len(there) == 1
    assert {there[0].file(f"{MODEL}/{name}").user for name in ("", "model.safetensors", "config.json")} == {"gaudi"}
    record = json.loads(there[0].file(f"{MODEL}/gaudi3_scale_export.json").content_string)
    assert (record["architecture"], record["checkpoint"]["step"]) == ("GPT2LMHeadModel", 4)
    again = play("launch_training", **asked)
    assert (again.status, again.changed) == ("successful", 0), again.screen
