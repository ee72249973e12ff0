# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on flags: what is refused, what is only told, and with which reason."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import FLAGS
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.flag_types import EVERY_MODE
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.checks import (
    Finding,
    check,
    check_name,
    check_unchecked,
    worth_telling,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.harms import Target

COMPILE = ("eager", "compile")
INVENTED = "no release of the Gaudi software"


def target(release: tuple[int, int] = (1, 24), modes: tuple[str, ...] = COMPILE, **more: object) -> Target:
    return Target(release, modes, **{"purpose": "training", "network": "gaudi_ethernet", **more})  # type: ignore[arg-type]


def verdict(findings: list[Finding]) -> str:
    assert len(findings) <= 1, findings
    return f"{findings[0].level}: {findings[0].sentence()}" if findings else ""


@pytest.mark.parametrize("release", [(1, 19), (1, 24), (1, 99)])
@pytest.mark.parametrize("text", ["0", "1", ""])
def test_one_check_has_what_one_of_fewer_chosen_flags_has(release: tuple[int, int], text: str) -> None:
    """So that what is told of an operator's flags and what is known of each flag come from one check."""
    flags = {flag.name: text if number % 2 else flag.default for number, flag in enumerate(FLAGS.values())}
    for chosen in ([], list(flags)[::3], list(flags)):
        wider = check(flags, target(release), None)
        assert worth_telling(wider, chosen) == check(flags, target(release), chosen)


# Every variable that the examples in circulation set, as they set it, for training on the cards' own network.
SEEN_IN_EXAMPLES = [
    ("PT_HPU_LAZY_MODE", "1", "error", "choose the profile training_lazy"),
    ("PT_HPU_MAX_COMPOUND_OP_SIZE", "512", "warning", "lazy mode only"),
    ("PT_HPU_MAX_COMPOUND_OP_SIZE", "256", "warning", "lazy mode only"),
    ("PT_HPU_ENABLE_SYNAPSE_OUTPUT_PERMUTE", "1", "warning", "the default already"),
    ("PT_HPU_ENABLE_WEIGHT_CPU_PERMUTE", "1", "warning", "lazy mode only"),
    ("PT_HPU_POOL_STRATEGY", "OPTIMIZE_UTILIZATION", "error", "when the device is created); it takes 0 or 4"),
    ("PT_HPU_AUTOCAST_LOWER_PRECISION_OPS_LIST", "add,mul,bmm,addmm", "error", "the path of a text file"),
    ("PT_HPU_INFERENCE_MODE", "1", "error", "hpu.enable_inference_mode()"),
    ("PT_HPU_ENABLE_LAZY_COMPILATION", "1", "error", "torch.compile(backend="),
    ("PT_HPU_GRAPH_COMPILER_OPT_LEVEL", "3", "error", "no such levels; leave it out"),
    ("PT_HPU_ENABLE_SYNAPSE_LAYOUT_OPT", "1", "error", "the compiler chooses layouts; leave it out"),
    ("PT_HPU_ENABLE_CONV_RECOMPILATION", "1", "error", "static shapes"),
    ("PT_HPU_ENABLE_MATRIX_MUL_RECOMPILATION", "1", "error", "static shapes"),
    ("PT_HPU_ENABLE_BF16_CONVERSION", "1", "error", "torch.autocast"),
    ("PT_HPU_ENABLE_MIXED_PRECISION", "1", "error", "torch.autocast"),
    ("PT_HPU_ENABLE_ADVANCED_FUSION", "1", "error", "fusion is always on; leave it out"),
    ("PT_HPU_ENABLE_DYNAMIC_FUSION", "1", "error", "fusion is always on; leave it out"),
    ("PT_HPU_FUSION_BUFFER_SIZE", "64MB", "error", "bucket_cap_mb"),
    ("PT_HPU_ENABLE_FLASH_ATTENTION_V2", "1", "error", "FusedSDPA"),
    ("PT_HPU_FLASH_ATTENTION_CAUSAL_MASK_OPT", "1", "error", "is_causal"),
    ("PT_HPU_ENABLE_HABANA_COLLECTIVE", "1", "error", 'backend="hccl"'),
    ("PT_HPU_COLLECTIVE_TIMEOUT", "300", "error", "the job's own timeouts"),
    ("PT_HPU_EFA_BUFFER_SIZE", "128MB", "error", "leave it out"),
    ("PT_HPU_EFA_WINDOW_SIZE", "16", "error", "FI_EFA_RX_WINDOW_SIZE"),
    ("PT_HPU_ENABLE_INFERENCE_CACHE", "1", "error", "PT_HPU_RECIPE_CACHE_CONFIG"),
    ("FI_EFA_USE_DEVICE_RDMA", "1", "warning", "for the network efa with AWS DL1"),
    ("FI_EFA_FORK_SAFE", "1", "warning", "for the network efa"),
    ("RDMAV_FORK_SAFE", "1", "warning", "last seen in 1.22"),
    ("FI_PROVIDER", "efa", "error", "only tcp and verbs providers"),
    ("NCCL_DEBUG", "INFO", "error", "LOG_LEVEL_HCL"),
    ("NCCL_SOCKET_IFNAME", "^docker,lo", "error", "HCCL_SOCKET_IFNAME"),
    ("NCCL_MIN_NRINGS", "8", "error", "leave it out"),
    ("NCCL_TREE_THRESHOLD", "0", "error", "leave it out"),
    ("NCCL_IB_DISABLE", "0", "error", "leave it out"),
    ("NCCL_NET_GDR_LEVEL", "5", "error", "HCCL_GAUDI_DIRECT"),
    ("NCCL_PROTO", "simple", "error", "leave it out"),
    ("MASTER_ADDR", "node-1", "error", "rendezvous_address"),
    ("WORLD_SIZE", "8", "error", "processes_per_node"),
    ("CUDA_VISIBLE_DEVICES", "0,1,2,3", "error", "HABANA_VISIBLE_MODULES"),
    ("CUDA_LAUNCH_BLOCKING", "0", "error", "only CUDA builds"),
    ("CUDA_CACHE_DISABLE", "0", "error", "only CUDA builds"),
    ("TORCH_CUDA_ARCH_LIST", "7.0;8.0;8.6", "error", "only CUDA builds"),
    ("TORCH_CUDNN_V8_API_ENABLED", "1", "error", "only CUDA builds"),
    ("TORCH_SHOW_CPP_STACKTRACES", "1", "warning", "belongs in environment"),
    ("OMP_NUM_THREADS", "8", "warning", "belongs in environment"),
    ("LD_LIBRARY_PATH", "/opt/amazon/efa/lib", "warning", "belongs in environment"),
]


@pytest.mark.parametrize(("name", "text", "level", "reason"), SEEN_IN_EXAMPLES)
def test_flags_of_examples_in_circulation(name: str, text: str, level: str, reason: str) -> None:
    found = verdict(check({name: text}, target()))
    assert found.startswith(f"{level}: {name}")
    assert reason in found


def test_invented_names_are_told_from_real_ones() -> None:
    names = {name for name, *_rest in SEEN_IN_EXAMPLES if name.startswith("PT_HPU_")}
    invented = {name for name in names if any(INVENTED in finding.message for finding in check_name(name))}
    assert (len(names), len(invented)) == (24, 17)


@pytest.mark.parametrize(
    ("name", "text", "wanted", "expected"),
    [
        ("PT_HPU_LAZY_MODE", "0", target(), ""),
        ("PT_HPU_LAZY_MODE", "true", target(), "error: PT_HPU_LAZY_MODE: 'true' is not one of the values"),
        (
            "PT_HPU_LAZY_MODE",
            "1",
            target(modes=("lazy",)),
            "warning: PT_HPU_LAZY_MODE=1: lazy mode needs the vendor's build",
        ),
        ("PT_HPU_LAZY_MODE", "1", target(modes=("lazy",), stock_torch=False), ""),
        (
            "PT_HPU_LAZY_MODE",
            "1",
            target(modes=("lazy",), stock_torch=True),
            "error: PT_HPU_LAZY_MODE=1: stock torch raises",
        ),
        ("PT_HPU_LAZY_MODE", "0", target(modes=("lazy",)), "error: PT_HPU_LAZY_MODE=0: the profile is for lazy mode"),
        (
            "PT_HPU_MAX_COMPOUND_OP_SIZE",
            "10",
            target(modes=("lazy",)),
            "warning: PT_HPU_MAX_COMPOUND_OP_SIZE=10: it caps",
        ),
        (
            "PT_HPU_MAX_COMPOUND_OP_SIZE",
            "64MB",
            target(modes=("lazy",)),
            "error: PT_HPU_MAX_COMPOUND_OP_SIZE: '64MB' is not",
        ),
        (
            "PT_HPU_ENABLE_WEIGHT_CPU_PERMUTE",
            "1",
            target(modes=("lazy",)),
            "warning: PT_HPU_ENABLE_WEIGHT_CPU_PERMUTE=1 is the",
        ),
        ("PT_HPU_POOL_STRATEGY", "5", target(), "error: PT_HPU_POOL_STRATEGY: '5' is not one of"),
        ("PT_HPU_POOL_STRATEGY", "0", target((1, 22)), ""),
        ("PT_HPU_INFERENCE_MODE", "0", target(), "error: PT_HPU_INFERENCE_MODE=0: it puts"),
        ("PT_HPU_INFERENCE_MODE", "1", target((1, 22), purpose="inference"), ""),
        ("PT_COMPILE_ONLY_MODE", "1", target(), "error: PT_COMPILE_ONLY_MODE=1: graphs are compiled and never"),
        ("PT_HPU_AUTOCAST_FP32_OPS_LIST", "/etc/ops.txt", target((1, 23)), ""),
        (
            "PT_HPU_AUTOCAST_FP32_OPS_LIST",
            "add",
            target(),
            "error: PT_HPU_AUTOCAST_FP32_OPS_LIST: 'add' is not an absolute",
        ),
        (
            "PT_HPU_RECIPE_CACHE_CONFIG",
            "/c,false,1,true",
            target((1, 21)),
            "error: PT_HPU_RECIPE_CACHE_CONFIG=/c,false,1,true: rel",
        ),
        ("PT_HPU_RECIPE_CACHE_CONFIG", "/c,false,1,true", target((1, 22)), ""),
        (
            "PT_HPU_RECIPE_CACHE_CONFIG",
            "",
            target(),
            "warning: PT_HPU_RECIPE_CACHE_CONFIG is empty, which counts as not set",
        ),
        (
            "PT_HPU_COMPILE_THREAD_POOL_SIZE",
            "010",
            target(),
            "warning: PT_HPU_COMPILE_THREAD_POOL_SIZE=010 is read as 8",
        ),
        (
            "PT_HPU_COMPILE_THREAD_POOL_SIZE",
            "1e6",
            target(),
            "warning: PT_HPU_COMPILE_THREAD_POOL_SIZE=1e6 is read as 486",
        ),
        ("PT_HPU_COMPILE_THREAD_POOL_SIZE", "0x10", target((1, 22)), ""),
        (
            "PT_RECIPE_CACHE_PATH",
            "/c",
            target(),
            "warning: PT_RECIPE_CACHE_PATH is gone since 1.21 and ignored; use PT_HPU_REC",
        ),
        (
            "PT_RECIPE_CACHE_PATH",
            "/c",
            target((1, 19)),
            "warning: PT_RECIPE_CACHE_PATH is superseded; use PT_HPU_RECIPE",
        ),
        ("PT_HPU_USE_OVERRIDE_ATEN_SDPA", "1", target(), "warning: PT_HPU_USE_OVERRIDE_ATEN_SDPA is gone since 1.22"),
        (
            "LOWER_LIST",
            "/o",
            target(),
            "warning: LOWER_LIST is gone since 1.17 and ignored; use PT_HPU_AUTOCAST_LOWER_PRE",
        ),
        (
            "PT_HPU_USE_ATEN_SDPA",
            "0",
            target((1, 21)),
            "warning: PT_HPU_USE_ATEN_SDPA has no effect here: it was first seen in 1.22",
        ),
        (
            "PT_HPU_USE_ATEN_SDPA",
            "0",
            target(),
            "warning: PT_HPU_USE_ATEN_SDPA was last seen in 1.22, and whether 1.24 reads",
        ),
        ("PT_HPU_USE_ATEN_SDPA", "0", target((1, 22)), ""),
        ("HCCL_OVER_OFI", "1", target((1, 21)), "warning: HCCL_OVER_OFI=1: setting it ends the automatic choice"),
        ("HCCL_GAUDI_DIRECT", "1", target(), "error: HCCL_GAUDI_DIRECT=1 without HCCL_OVER_OFI=1 ends the process"),
        ("HCCL_GAUDI_DIRECT", "0", target((1, 21)), "warning: HCCL_GAUDI_DIRECT=0 is the default already"),
        (
            "PT_HPU_ENABLE_SFG",
            "true",
            target(),
            "error: PT_HPU_ENABLE_SFG=true without PT_HPU_ENABLE_LAZY_COLLECTIVES=1",
        ),
        ("FI_PROVIDER", "verbs", target((1, 21)), ""),
        ("FI_PROVIDER", "^efa", target((1, 21)), ""),
        ("FI_PROVIDER", "^tcp,verbs", target(), "error: FI_PROVIDER=^tcp,verbs: HCL from 1.18"),
        ("FI_PROVIDER", "efa", target((1, 17), network="efa"), ""),
        ("FI_EFA_USE_DEVICE_RDMA", "1", target((1, 22), network="efa"), ""),
        (
            "FI_EFA_USE_DEVICE_RDMA",
            "maybe",
            target(network="efa"),
            "error: FI_EFA_USE_DEVICE_RDMA: 'maybe' is not one of",
        ),
        ("HCL_IMB_SIZE", "1M", target((1, 21)), "warning: HCL_IMB_SIZE has no effect here: it is private and ignored"),
        (
            "VLLM_BUCKETING_STRATEGY",
            "exp",
            target(),
            "warning: VLLM_BUCKETING_STRATEGY has no effect here: it is for inference",
        ),
        ("VLLM_BUCKETING_STRATEGY", "lin", target(purpose="inference"), ""),
        ("VLLM_SKIP_WARMUP", "true", target(purpose="inference"), "warning: VLLM_SKIP_WARMUP=true: the first requests"),
        ("HABANA_RUNTIME_ERROR", "x", target(), "error: HABANA_RUNTIME_ERROR: 'x' would be overwritten"),
        (
            "PT_HPU_ENABLE_EAGER_COMPILER",
            "maybe",
            target(),
            "error: PT_HPU_ENABLE_EAGER_COMPILER: 'maybe' is not 1, true",
        ),
        ("HABANA_LOGS", "/var/log/habana", target(), ""),
        ("LOG_LEVEL_PT_FALLBACK", "7", target(), "error: LOG_LEVEL_PT_FALLBACK: '7' is out of range"),
        ("PT_HPU_EAGER_ENABLE_GRADIENT_VIEW_LAYOUT_OPT", "0", target((1, 23)), ""),
        (
            "PT_HPU_LAZYMODE",
            "1",
            target(),
            "error: PT_HPU_LAZYMODE is not a known Gaudi flag; the nearest real name is PT_HPU_LAZY_MODE",
        ),
    ],
)
def test_verdict(name: str, text: str, wanted: Target, expected: str) -> None:
    found = verdict(check({name: text}, wanted))
    assert found.startswith(expected) if expected else found == ""


@pytest.mark.parametrize(
    "flags",
    [
        {"HCCL_OVER_OFI": "1", "HCCL_GAUDI_DIRECT": "1"},
        {"PT_HPU_ENABLE_SFG": "1", "PT_HPU_ENABLE_LAZY_COLLECTIVES": "true"},
        {"ENABLE_EXPERIMENTAL_FLAGS": "true", "HCL_IMB_SIZE": "1M"},
        {"EXP_FLAGS": "1", "HCL_IMB_SIZE": "1M"},
        {"HABANA_PT_METRICS_FILE": "/m", "PT_HPU_METRICS_FILE": "/m"},
    ],
)
def test_flags_that_need_each_other_are_fine_together(flags: dict[str, str]) -> None:
    assert check(flags, target((1, 21))) == []


def test_a_flag_and_its_alias_must_agree() -> None:
    flags = {"PT_HPU_METRICS_FILE": "/m", "HABANA_PT_METRICS_FILE": "/n"}
    assert verdict(check(flags, target((1, 21)))).startswith(
        "error: HABANA_PT_METRICS_FILE and PT_HPU_METRICS_FILE are"
    )


def test_age_and_redundancy_are_told_only_of_what_the_operator_chose() -> None:
    flags = {"RDMAV_FORK_SAFE": "1", "PT_HPU_ENABLE_SYNAPSE_OUTPUT_PERMUTE": "1"}
    assert [finding.flag for finding in check(flags, target())] == list(flags)
    assert check(flags, target(), chosen=[]) == []


def test_a_wrong_value_is_refused_whoever_chose_it() -> None:
    assert check({"RDMAV_FORK_SAFE": "2"}, target(), chosen=[])[0].level == "error"


def test_findings_come_in_the_order_of_the_flags() -> None:
    flags = {"PT_HPU_POOL_STRATEGY": "x", "NCCL_DEBUG": "INFO", "HABANA_LOGS": "/l", "PT_HPU_LAZYMODE": "1"}
    assert [finding.flag for finding in check(flags, target())] == [
        "PT_HPU_POOL_STRATEGY",
        "NCCL_DEBUG",
        "PT_HPU_LAZYMODE",
    ]


def test_plain_variables_are_searched_for_hidden_flags() -> None:
    names = ["OMP_NUM_THREADS", "PT_HPU_POOL_STRATEGY", "NCCL_DEBUG", "RANK", "PT_HPU_FLAG_OF_2030"]
    found = {finding.flag: finding.level for finding in check_unchecked(names)}
    assert found == {"PT_HPU_POOL_STRATEGY": "error", "NCCL_DEBUG": "warning", "RANK": "error"}


def test_every_mode_at_once_has_no_flag_without_effect() -> None:
    assert check({"PT_HPU_LAZY_ACC_PAR_MODE": "0"}, target((1, 21), modes=EVERY_MODE)) == []


def test_a_finding_reads_as_one_sentence() -> None:
    sentences = [finding.sentence() for name, text, *_ in SEEN_IN_EXAMPLES for finding in check({name: text}, target())]
    assert all(
        sentence.endswith(".") and not sentence.endswith("..") and "\n" not in sentence for sentence in sentences
    )
