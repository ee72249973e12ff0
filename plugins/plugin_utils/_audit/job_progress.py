# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an audit asks of a job under way, or over."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit import measures
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import JOB, LAUNCH, Item, guide
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import LEAST, MOST

JOB_PROGRESS = (
    Item(
        "utilization",
        "Are the cards busy under the job?",
        JOB,
        measures.utilization,
        "ansible-playbook gaudi3.scale.show_training: where the time of a step goes",
        missing="no supervisor has recorded the cards of the job",
        threshold=guide(0.85, LEAST, "of the time"),
        lists=(
            "Monitor GPU utilization (target: >85%)",
            "1. **Maximize GPU Utilization**: Keep GPUs busy (target: >85%)",
            "| GPU Utilization | >85% | During training |",
            "- **GPU Utilization**: >85% during training",
            "- **Target**: >90% GPU utilization during training",
            "1. **Low HPU Utilization** (<80%)",
        ),
    ),
    Item(
        "data_share",
        "How much of a step is spent waiting for data?",
        JOB,
        measures.share("data"),
        "ansible-playbook gaudi3.scale.measure_storage, and gaudi3_scale data workers",
        threshold=guide(0.05, MOST, "of a step"),
        lists=(
            "Check data loading time (should be <5% of step time)",
            "| Data Loading Overhead | <5% | Of total step time |",
            "Implement efficient data preprocessing",
        ),
    ),
    Item(
        "communication_share",
        "How much of a step is spent waiting for other ranks?",
        JOB,
        measures.share("communication"),
        "ansible-playbook gaudi3.scale.measure_collectives, then find_bad_nodes.yml",
        missing="the job's steps have no such part: PyTorch has no timer for it on hpu",
        threshold=guide(0.10, MOST, "of a step"),
        lists=("3. **Communication Overhead** (>10% of training time)",),
    ),
    Item(
        "gradient_norm",
        "Are gradients finite?",
        JOB,
        measures.gradient_norm,
        "give gradient_norm to report_step in your program (docs/training.md)",
        missing="no step of the job reports gradient_norm",
        lists=("Verify gradient norms (detect instability)",),
    ),
    Item(
        "tokens_per_second",
        "Is the job as fast as it was?",
        JOB,
        measures.of_step("tokens_per_second"),
        "ansible-playbook gaudi3.scale.compare_settings against a stored baseline",
        target=(LEAST, "tokens/s"),
        lists=(
            "Track tokens/sec (compare to baseline)",
            "| Tokens/sec (8xA100) | >100K | For GPT-small |",
            "| LLM 7B | >2,000 tok/s | >90% HBM utilization | <300W per HPU |",
            "| LLM 70B | >500 tok/s | >95% HBM utilization | <320W per HPU |",
        ),
    ),
    Item(
        "samples_per_second",
        "The same, where a program counts samples",
        JOB,
        measures.of_step("samples_per_second"),
        "ansible-playbook gaudi3.scale.compare_settings against a stored baseline",
        missing="the steps of the job report none",
        target=(LEAST, "samples/s"),
        lists=(
            "- **Training Speed**: >1000 samples/second",
            "| Diffusion | >150 img/s | >85% HBM utilization | <280W per HPU |",
            "| Custom | Model-specific | >90% target | <310W avg |",
        ),
    ),
    Item(
        "watched",
        "Are its steps, and what it uses of each node, on record while it runs?",
        JOB,
        measures.watched,
        "ansible-playbook gaudi3.scale.show_training",
        advice=True,
        lists=(
            "**Monitoring**: Enable real-time performance monitoring",
            "Monitor system resources continuously",
            "Monitor memory usage and set appropriate limits",
            "1. Continuous performance monitoring",
        ),
    ),
    Item(
        "checkpoint_seconds",
        "How long does training wait for a checkpoint?",
        JOB,
        measures.of_checkpoint("blocked_seconds"),
        "ansible-playbook gaudi3.scale.measure_storage -e gaudi_storage_directory=… with gaudi_storage_parameters",
        threshold=guide(1.0, MOST, "s"),
        lists=("- **Storage**: <1s checkpoint save time",),
    ),
    Item(
        "step_parts",
        "Is it known where the time of a step goes?",
        JOB,
        measures.step_parts,
        "ansible-playbook gaudi3.scale.show_training; docs/follow.md says what a program must report",
        advice=True,
        lists=("Analyze bottlenecks",),
    ),
    Item(
        "recorded",
        "Is it on record with which versions and flags the job ran?",
        JOB,
        measures.recorded,
        f"{LAUNCH} with gaudi3_scale.report_step in your program",
        advice=True,
        lists=("Document optimizations",),
    ),
    Item(
        "validation_loss",
        "Is the model as good as before?",
        JOB,
        measures.validation_loss,
        "ansible-playbook gaudi3.scale.compare_settings: its loss is compared as well",
        target=(MOST, "nats a token"),
        lists=("- **Model Quality**: No degradation from optimizations",),
    ),
)
