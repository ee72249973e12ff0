# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real or not, effective or not: one verdict a flag."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.harms import Target
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.judgement import Judgement, judge_flags

COMPILE = Target((1, 24), ("eager", "compile"), "training", "gaudi_ethernet")


def one(name: str, text: str, target: Target = COMPILE, **others: str) -> Judgement:
    return judge_flags({name: text, **others}, target)[0]


@pytest.mark.parametrize(
    ("name", "text", "real", "effective", "level"),
    [
        ("PT_HPU_LAZY_MODE", "0", True, "yes", "ok"),
        ("PT_HPU_ENABLE_ADVANCED_FUSION", "1", False, "no", "error"),
        ("PT_HPU_LAZYMODE", "1", False, "no", "error"),
        ("PT_HPU_POOL_STRATEGY", "OPTIMIZE_UTILIZATION", True, "no", "error"),
        ("PT_HPU_INITIAL_WORKSPACE_SIZE", "1e6", True, "yes", "warning"),
        ("PT_HPU_MAX_COMPOUND_OP_SIZE", "10", True, "no", "warning"),
        ("PT_HPU_ENABLE_SYNAPSE_OUTPUT_PERMUTE", "1", True, "no", "warning"),
        ("PT_HCCL_SLICE_SIZE_MB", "16", True, "no", "warning"),
        ("PT_HPU_SYNC_LAUNCH", "1", True, "yes", "warning"),
        ("RUN_TPC_FUSER", "0", True, "no", "warning"),
        ("HCCL_SOCKET_IFNAME", "ens", True, "unknown", "warning"),
        ("HCCL_GAUDI_DIRECT", "1", True, "no", "error"),
    ],
)
def test_verdicts(name: str, text: str, real: bool, effective: str, level: str) -> None:
    found = one(name, text)
    assert (found.real, found.effective, found.level) == (real, effective, level), found
    assert bool(found.why) == bool(found.use_instead) == (level != "ok")


def test_a_private_flag_acts_with_its_gate() -> None:
    assert "set ENABLE_EXPERIMENTAL_FLAGS=true with it" in one("RUN_TPC_FUSER", "0").use_instead
    gated = one("RUN_TPC_FUSER", "0", ENABLE_EXPERIMENTAL_FLAGS="true")
    assert gated.effective != "no"


def test_conflicting_flags_are_named_together() -> None:
    found = one("PT_HPU_ENABLE_SFG", "1", Target((1, 22), ("lazy",), "training", ""))
    assert found.level == "error" and "PT_HPU_ENABLE_LAZY_COLLECTIVES=1" in found.why


def test_without_a_network_nothing_is_said_of_networks() -> None:
    anywhere = Target((1, 22), ("eager", "compile"), "training", "")
    assert one("MLX5_SCATTER_TO_CQE", "0").effective == "no"
    assert one("MLX5_SCATTER_TO_CQE", "0", anywhere).effective != "no"
