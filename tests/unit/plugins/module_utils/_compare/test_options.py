# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.options import comparison, node
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

USUAL: dict[str, Any] = {
    "workload": "gaudi3_scale.workloads:causal_language_model",
    "workload_options": {},
    "base": {},
    "flags": ["PT_HPU_LAZY_MODE=0"],
    "rounds": 10,
    "precision": 0.01,
    "confidence": 0.95,
    "loss_tolerance": 0.01,
    "steps": 20,
    "warm_up": 3,
    "processes": 1,
    "timeout": 900,
    "memory_limit": None,
    "device": "hpu",
    "venv": "/opt/gaudi3_scale/venv",
    "environment": {},
    "environment_files": [],
    "state_directory": "/var/lib/gaudi3_scale",
    "lock_timeout": 900,
    "user": "gaudi",
}


def test_a_run_has_the_ranks_and_the_time_that_the_site_gives_it() -> None:
    given = {**USUAL, "processes": 8, "timeout": 1800}
    assert comparison(given).workload.processes == 8
    assert node(given).timeout == 1800


@pytest.mark.parametrize("option", ["processes", "timeout"])
def test_none_of_either_is_refused(option: str) -> None:
    with pytest.raises(GaudiError, match=f"{option} is 0; give at least 1."):
        node({**USUAL, option: 0})
