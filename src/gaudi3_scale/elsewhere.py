# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Names that guides to Gaudi import from gaudi3_scale, and that something else does here: whoever asks is told what."""

from __future__ import annotations

_DDP = "use GaudiDDPStrategy of gaudi3_scale with Lightning, or torchrun -m gaudi3_scale.train (docs/training.md)"
_MEMORY = (
    "`gaudi3_scale estimate` says what fits, --checkpointing and --sharding fsdp2 make it fit, and the step lines show "
    "what the memory is used for (docs/estimate.md, docs/follow.md)"
)
_PROBE = (
    "probe_batch_size.yml finds the batch size, and gaudi3_scale.batch.AdaptiveBatchFinder in Python (docs/batch.md)"
)
_TUNING = (
    "tune_training.yml searches over settings, and compare_settings.yml compares some (docs/tune.md, docs/compare.md)"
)
_MONITORING = (
    "report_step tells a job's page and Prometheus of each step, and monitoring.yml watches and alerts "
    "(docs/follow.md, docs/monitoring.md)"
)
_ROLE = (
    "serve the exported model with serving.yml, whose instances are vLLM with its plug-in for Gaudi (docs/serving.md)"
)
_CACHE = "vLLM keeps keys and values in pages that requests share; the role gaudi_serving sizes them (docs/serving.md)"
_GROUPING = "vLLM puts requests together at each step, up to an instance's max_num_seqs (docs/serving.md)"
_TORCH_SCRIPT = (
    "TorchScript does not reach a Gaudi card; `gaudi3_scale export` makes what vLLM serves (docs/serving.md)"
)
_TRAINER = (
    "it was optimum-habana's, which ended; upstream's Trainer knows the cards by itself, "
    "and `python -m gaudi3_scale.fine_tune` is its commonest programs on them (docs/optimum_habana.md)"
)
_TRAINERS = ("GaudiTrainer", "GaudiSeq2SeqTrainer", "GaudiSFTTrainer", "GaudiDPOTrainer")
FP8 = (
    "no release in the table of gaudi3.scale has a documented interface for training in FP8 that could be verified; "
    "use bf16 (docs/training.md)"
)
INSTEAD = {
    "OptimizedDDP": _DDP,
    **dict.fromkeys(("MemoryOptimizer", "AdvancedMemoryManager"), _MEMORY),
    "BatchOptimizer": _PROBE,
    "AutoTuner": _TUNING,
    "PerformanceMonitor": _MONITORING,
    **dict.fromkeys(("OptimizedInferenceServer", "HighPerformanceInferenceServer", "InferenceServer"), _ROLE),
    **dict.fromkeys(("IntelligentCachingSystem", "KVCache", "AttentionCache", "EmbeddingCache"), _CACHE),
    **dict.fromkeys(("BatchProcessor", "RequestBatcher", "DynamicBatcher", "batch_inference"), _GROUPING),
    **dict.fromkeys(("TorchScriptServer", "optimize_for_inference", "load_optimized_model"), _TORCH_SCRIPT),
    **dict.fromkeys((*_TRAINERS, "GaudiTrainingArguments", "GaudiSeq2SeqTrainingArguments", "GaudiConfig"), _TRAINER),
    **dict.fromkeys(("FP8Precision", "GaudiFP8Precision"), FP8),
}


def missing(module: str, name: str) -> ImportError | AttributeError:
    """What a module without such a name raises: in words where something else does it."""
    if name in INSTEAD:
        return ImportError(f"gaudi3_scale has no {name}: {INSTEAD[name]}.", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}")
