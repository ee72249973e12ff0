# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing in Python serves a model here: guides import such names from this module, and are told what does it."""

from __future__ import annotations

from typing import Any

_PAGE = "docs/serving.md"
_ROLE = f"serve the exported model with serving.yml, whose instances are vLLM with its plug-in for Gaudi ({_PAGE})"
_CACHE = f"vLLM keeps keys and values in pages that requests share; the role gaudi_serving sizes them ({_PAGE})"
_GROUPING = f"vLLM puts requests together at each step, up to an instance's max_num_seqs ({_PAGE})"
_TORCH_SCRIPT = f"TorchScript does not reach a Gaudi card; `gaudi3_scale export` makes what vLLM serves ({_PAGE})"
# Names of guides, and what does it.
INSTEAD = {
    **dict.fromkeys(("OptimizedInferenceServer", "HighPerformanceInferenceServer", "InferenceServer"), _ROLE),
    **dict.fromkeys(("IntelligentCachingSystem", "KVCache", "AttentionCache", "EmbeddingCache"), _CACHE),
    **dict.fromkeys(("BatchProcessor", "RequestBatcher", "DynamicBatcher", "batch_inference"), _GROUPING),
    **dict.fromkeys(("TorchScriptServer", "optimize_for_inference", "load_optimized_model"), _TORCH_SCRIPT),
}


def refuse(name: str) -> None:
    """Raises ImportError for a name that something else does, and nothing for others."""
    if name in INSTEAD:
        raise ImportError(f"gaudi3_scale has no {name}: {INSTEAD[name]}.", name=name)


def __getattr__(name: str) -> Any:
    """Told to whoever imports the name."""
    refuse(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
