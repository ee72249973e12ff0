# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What lists in circulation ask for and an audit does not measure: why, and what to use instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NotMeasured:
    """``lists``: in their words. docs/audit.md has the same for people."""

    lists: tuple[str, ...]
    why: str
    instead: str


NOT_MEASURED = (
    NotMeasured(
        (
            "**Memory Management**: Achieve >90% HPU memory utilization",
            "- **Memory Efficiency**: >70% GPU memory utilization",
            "2. **Memory Inefficiency** (<90% utilization)",
        ),
        "A full card is no faster, and a batch at the edge runs out of memory.",
        "probe_batch_size.yml, which keeps a margin",
    ),
    NotMeasured(
        (
            "Enable CUDA optimizations (`torch.backends.cudnn.benchmark=True`)",
            "Enable TensorFloat-32 for A100/H100 GPUs",
        ),
        "Switches of another vendor's libraries, which a Gaudi card does not have.",
        "explain_flags.yml for those that it has",
    ),
    NotMeasured(
        ("Implement automatic garbage collection",),
        "A forced collection stops one rank at a time, and all others wait for it.",
        "fewer workers of the data loader",
    ),
    NotMeasured(
        ("Use memory-efficient data loading (`pin_memory=True`)", "Enable non-blocking data transfer"),
        "Whether the bridge gains from pinned memory differs by release.",
        "the metric line pinned_memory of the trainer, which measures it at each start",
    ),
    NotMeasured(
        ("Use JIT compilation for inference", "4. **Slow Inference** (>100ms per request)"),
        "A training is audited, not a served model, and TorchScript does not run on a Gaudi card.",
        "serving.yml, and measure_serving.yml for its latencies",
    ),
    NotMeasured(
        ("Profile with PyTorch Profiler",),
        "A profile is of a few steps of a job, not of the cluster's state.",
        "profile_training.yml, and the item step_parts",
    ),
    NotMeasured(
        ("- **Convergence**: <50% of baseline training time",),
        "How many steps a model needs depends on its data and its settings, not on the cluster.",
        "tune_training.yml, whose objective it may be",
    ),
    NotMeasured(
        (
            "| Build Time | <10 min | Docker images |",
            "| CI Pipeline | <15 min | Full pipeline |",
            "- **Maintainability**: Readable and maintainable code",
        ),
        "This concerns the development of your program, which a cluster does not see.",
        "your CI",
    ),
)
