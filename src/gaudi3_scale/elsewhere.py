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
    **dict.fromkeys(("FP8Precision", "GaudiFP8Precision"), FP8),
}


def refuse(name: str) -> None:
    """Raises ImportError for a name that something else does, and nothing for others."""
    if name in INSTEAD:
        raise ImportError(f"gaudi3_scale has no {name}: {INSTEAD[name]}.", name=name)
