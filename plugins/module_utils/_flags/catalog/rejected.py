# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Names that are in circulation and that nothing on a Gaudi node reads, each with what serves the purpose.

The invented PT_HPU_ names are absent from the PyTorch bridge (1.17 to the 1.22 line), HCL (1.16 to 1.21), the graph
compiler (1.16), optimum-habana, vllm-gaudi and Model-References. All of them ignore an unknown name without a message.
"""

from __future__ import annotations

import re

from .flag_types import RejectedName

_INVENTED = "no release of the Gaudi software that was examined reads this name"
_NOT_NCCL = "HCCL reads no NCCL_ variable"
_LAUNCHER = "torchrun sets it for every process of a job"
_CUDA = "only CUDA builds read it"


def _invented(name: str, use_instead: str) -> RejectedName:
    return RejectedName(name, _INVENTED, use_instead)


def _nccl(name: str, use_instead: str) -> RejectedName:
    return RejectedName(name, _NOT_NCCL, use_instead)


REJECTED_NAMES: tuple[RejectedName, ...] = (
    _invented("PT_HPU_ENABLE_LAZY_COMPILATION", 'PT_HPU_LAZY_MODE=0 and torch.compile(backend="hpu_backend")'),
    RejectedName("PT_HPU_GRAPH_COMPILER_OPT_LEVEL", f"{_INVENTED}, and the compiler has no such levels", ""),
    RejectedName(
        "PT_HPU_ENABLE_SYNAPSE_LAYOUT_OPT",
        f"{_INVENTED} (PT_HPU_ENABLE_SYNAPSE_LAYOUT_HANDLING of 2022 is gone), and the compiler chooses layouts",
        "",
    ),
    _invented("PT_HPU_ENABLE_CONV_RECOMPILATION", "static shapes, or torch.compile(dynamic=...)"),
    _invented("PT_HPU_ENABLE_MATRIX_MUL_RECOMPILATION", "static shapes, or torch.compile(dynamic=...)"),
    _invented("PT_HPU_ENABLE_BF16_CONVERSION", 'torch.autocast("hpu", dtype=torch.bfloat16), or bf16 weights'),
    _invented("PT_HPU_ENABLE_MIXED_PRECISION", 'torch.autocast("hpu", dtype=torch.bfloat16)'),
    RejectedName("PT_HPU_ENABLE_ADVANCED_FUSION", f"{_INVENTED}, and fusion is always on", ""),
    RejectedName("PT_HPU_ENABLE_DYNAMIC_FUSION", f"{_INVENTED}, and fusion is always on", ""),
    _invented("PT_HPU_FUSION_BUFFER_SIZE", "bucket_cap_mb of DistributedDataParallel, or DeepSpeed's bucket sizes"),
    _invented(
        "PT_HPU_ENABLE_FLASH_ATTENTION_V2",
        "habana_frameworks.torch.hpex.kernels.FusedSDPA, or PT_HPU_USE_ATEN_SDPA=false from 1.22",
    ),
    _invented("PT_HPU_FLASH_ATTENTION_CAUSAL_MASK_OPT", "the is_causal argument of FusedSDPA"),
    _invented("PT_HPU_ENABLE_HABANA_COLLECTIVE", 'torch.distributed.init_process_group(backend="hccl")'),
    _invented(
        "PT_HPU_COLLECTIVE_TIMEOUT",
        "the job's own timeouts: a collective has none (HCL_HLCP_OPS_TIMEOUT and SCAL_TIMEOUT_VALUE_SECONDS lie below)",
    ),
    _invented("PT_HPU_EFA_BUFFER_SIZE", ""),
    _invented("PT_HPU_EFA_WINDOW_SIZE", "FI_EFA_RX_WINDOW_SIZE of libfabric, on EFA hardware"),
    _invented("PT_HPU_ENABLE_INFERENCE_CACHE", "PT_HPU_RECIPE_CACHE_CONFIG"),
    RejectedName("HCL_COMM_ID", "one page of the documentation spells it so, HCL reads HCCL_COMM_ID", "HCCL_COMM_ID"),
    _nccl("NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME (interface name prefixes; Gaudi ports are skipped anyway)"),
    _nccl("NCCL_COMM_ID", "HCCL_COMM_ID"),
    _nccl("NCCL_DEBUG", "LOG_LEVEL_HCL or LOG_LEVEL_ALL_HCL"),
    _nccl("NCCL_IB_HCA", "HCL_HNIC_VERBS_EXCLUDE_IF, a list of RDMA devices to leave out, from 1.21"),
    _nccl("NCCL_NET", "HCCL_OVER_OFI, and only to override the automatic choice"),
    _nccl("NCCL_NET_GDR_LEVEL", "HCCL_GAUDI_DIRECT with HCCL_OVER_OFI, and only to override the automatic choice"),
    _nccl("NCCL_IB_TIMEOUT", "HCL_IBV_RETRY_TIMEOUT_SEC or HCL_OFI_MAX_RETRY_DURATION (both private)"),
    RejectedName("NCCL_*", _NOT_NCCL, "", r"NCCL_[A-Z0-9_]+"),
    RejectedName("MASTER_ADDR", _LAUNCHER, "rendezvous_address of training_job"),
    RejectedName("MASTER_PORT", _LAUNCHER, "rendezvous_port of training_job"),
    RejectedName("WORLD_SIZE", _LAUNCHER, "hosts and processes_per_node of training_job"),
    RejectedName(
        "RANK", _LAUNCHER, "the order of hosts of training_job", r"(GROUP_|LOCAL_|ROLE_)?RANK|LOCAL_WORLD_SIZE"
    ),
    RejectedName("CUDA_VISIBLE_DEVICES", _CUDA, "HABANA_VISIBLE_MODULES"),
    RejectedName("CUDA_*", _CUDA, "", r"(CUDA|CUBLAS|NVIDIA|TORCH_CUDA|TORCH_CUDNN)_[A-Z0-9_]+"),
)


def find_rejected(name: str) -> RejectedName | None:
    """The entry for ``name``, an exact one before a family."""
    for entry in REJECTED_NAMES:
        if entry.name == name:
            return entry
    return next((entry for entry in REJECTED_NAMES if entry.pattern and re.fullmatch(entry.pattern, name)), None)


def set_by_launcher(name: str) -> bool:
    """Whether the job's launcher owns this variable, so that a value in a file would fight with it."""
    entry = find_rejected(name)
    return entry is not None and entry.why == _LAUNCHER
