# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real or not, effective or not: one verdict a flag."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.harms import Target
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.judgment import Judgment, judge_flags

COMPILE = Target((1, 24), ("eager", "compile"), "training", "gaudi_ethernet")


def one(name: str, text: str, target: Target = COMPILE, **others: str) -> Judgment:
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


# The first ten as a site had them for vLLM on several nodes; then from docker commands of OPEA's examples, from scripts
# that start Ray for vLLM (spark_tests), and from FlagScale's for other accelerators.
OTHERS = """\
VLLM_HOST_IP=192.0.2.101
GLOO_SOCKET_IFNAME=ens108np0
VLLM_GRAPH_PROMPT_RATIO=0.8
VLLM_DELAYED_SAMPLING=true
VLLM_MLA_PERFORM_MATRIX_ABSORPTION=0
VLLM_EP_SIZE=8
VLLM_RAY_DISABLE_LOG_TO_DRIVER=1
RAY_IGNORE_UNHANDLED_ERRORS=1
OMP_NUM_THREADS=16
TOKENIZERS_PARALLELISM=false
HUGGING_FACE_HUB_TOKEN=x
HF_HOME=/data
https_proxy=http://192.0.2.1:3128
RAY_memory_monitor_refresh_ms=0
TP_SOCKET_IFNAME=enp67s0f5
UCX_NET_DEVICES=ens108np0
VLLM_USE_V1=1
RAY_DEDUP_LOGS=1
KMP_BLOCKTIME=1
FI_OFI_RXM_USE_SRX=1
"""


@pytest.mark.parametrize("line", OTHERS.splitlines())
def test_another_program_s_variable_is_neither_wrong_nor_somebody_else_s_name(line: str) -> None:
    name, _equals, text = line.partition("=")
    found = one(name, text)
    assert (found.known, found.real, found.effective, found.level) == ("another program", True, "unknown", "warning")
    assert "not a Gaudi flag, so neither name nor value was checked" in found.why
    assert (found.use_instead, found.judged_by) == ("such a variable belongs in environment", "nobody")


@pytest.mark.parametrize("text", ["ALL", "all", "0,1"])
def test_all_devices_may_be_written_in_capitals(text: str) -> None:
    found = one("HABANA_VISIBLE_DEVICES", text)
    assert (found.known, found.level) == ("gaudi", "ok"), found


@pytest.mark.parametrize(
    ("name", "known", "says"),
    [
        # What begins like another program's and is in the catalog is judged as before.
        ("VLLM_BUCKETING_STRATEGY", "gaudi", "it is for inference"),
        ("NCCL_DEBUG", "nobody", "LOG_LEVEL_HCL"),
        ("TORCH_CUDA_ARCH_LIST", "nobody", "only CUDA builds"),
        ("HABANA_VISIBLE_DEVICE", "nobody", "HABANA_VISIBLE_DEVICES"),
        ("PT_HPU_LAZYMODE", "nobody", "PT_HPU_LAZY_MODE"),
        ("HCCL_SOCKET_IFNAMES", "nobody", "HCCL_SOCKET_IFNAME"),
        ("SOCKET_IFNAME", "nobody", "HCCL_SOCKET_IFNAME"),
        ("FOO", "nobody", "no flag looks like it"),
    ],
)
def test_known_and_unknown_are_other_answers(name: str, known: str, says: str) -> None:
    found = one(name, "exp")
    assert found.known == known
    assert says in f"{found.why} {found.use_instead}"


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
