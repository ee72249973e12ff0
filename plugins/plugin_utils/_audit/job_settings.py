# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an audit asks of a job's settings."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit import measures
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import JOB, LAUNCH, Item
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import LEAST

JOB_SETTINGS = (
    Item(
        "mixed_precision",
        "Is the job's precision bf16?",
        JOB,
        measures.start("precision", lambda value: value == "bf16"),
        f"{LAUNCH} -e gaudi_training_precision=bf16",
        advice=True,
        lists=(
            "Enable mixed precision (bfloat16)",
            "Enable mixed precision training (`enable_mixed_precision=True`)",
            "Enable automatic mixed precision (AMP)",
            "**Precision**: Enable BF16 mixed precision",
        ),
    ),
    Item(
        "compiled",
        "Is the model compiled, by torch.compile or by the bridge?",
        JOB,
        measures.compiled,
        "ansible-playbook gaudi3.scale.compare_settings, then launch_training.yml with --compile if it pays",
        advice=True,
        lists=("Compile model with torch.compile()", "Use model compilation (`compile_model=True`)"),
    ),
    Item(
        "flags",
        "Is each flag of the job a real one?",
        JOB,
        measures.real_flags,
        "ansible-playbook gaudi3.scale.explain_flags",
        lists=("**Graph Compilation**: Enable all Habana compiler optimizations",),
    ),
    Item(
        "batch_size",
        "Is the batch as large as the probe found?",
        JOB,
        measures.start_number("batch_size"),
        "ansible-playbook gaudi3.scale.probe_batch_size",
        target=(LEAST, "sequences"),
        lists=(
            "Tune batch size (maximize GPU memory usage)",
            "Optimize batch size for GPU memory",
            "**Batch Optimization**: Use adaptive batch sizing",
        ),
    ),
    Item(
        "data_workers",
        "Do processes read ahead?",
        JOB,
        measures.start("workers", lambda value: value == "auto" or (isinstance(value, int) and value > 0)),
        f"{LAUNCH} with --workers auto, or gaudi3_scale data workers",
        advice=True,
        lists=(
            "Set num_workers for data loading",
            "Optimize data loader workers (`num_workers=4-8`)",
            "Use persistent workers for data loading",
        ),
    ),
    Item(
        "activation_checkpointing",
        "Does the model fit, with checkpointing or without?",
        JOB,
        measures.fits,
        f"{LAUNCH} with --checkpointing on",
        advice=True,
        lists=("Enable gradient checkpointing if OOM", "Enable gradient checkpointing for large models"),
    ),
    Item(
        "schedule",
        "Does the learning rate follow a schedule?",
        JOB,
        measures.start("schedule", lambda value: value != "constant"),
        f"{LAUNCH} with --schedule cosine",
        advice=True,
        lists=("Use appropriate learning rate scheduling",),
    ),
    Item(
        "clipping",
        "Are gradients clipped?",
        JOB,
        measures.start("clip", lambda value: isinstance(value, (int, float)) and value > 0),
        f"{LAUNCH} with --clip 1",
        advice=True,
        lists=("Implement gradient clipping",),
    ),
    Item(
        "automatic_checkpoints",
        "Does the job write checkpoints by itself?",
        JOB,
        measures.automatic_checkpoints,
        f"{LAUNCH} with --checkpoint-every",
        advice=True,
        lists=("Implement automatic checkpoint saving",),
    ),
)
