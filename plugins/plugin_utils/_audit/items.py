# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Every item of an audit as data: what is asked, how it is measured, against what, and what to do about it.

``lists`` has the words of the checklists and tables of targets that guides have in circulation, so that who comes with
one finds each line of it here, or in ``not_measured.py`` with the reason. Their figures fail nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit import measures
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Measure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import GUIDE, LEAST, MOST, Threshold

NODE, JOB, CLUSTER = "node", "job", "cluster"
_NO_JOB = "no job is named, or none of its lines has it"
_LAUNCH = "ansible-playbook gaudi3.scale.launch_training"


@dataclass(frozen=True)
class Item:
    """``of`` is asked of each NODE, of the JOB or of the CLUSTER. ``threshold`` None: what is measured is a truth.

    ``target``: there is a number, and only the site can say how much it has to be; the side and the unit of it.
    ``advice``: a choice that is right for most jobs and not for each, which fails only where the site requires it.
    ``missing`` says what nobody could measure; ``remedy`` is a command.
    """

    name: str
    asks: str
    of: str
    measure: Measure
    remedy: str
    missing: str = _NO_JOB
    threshold: Threshold | None = None
    target: tuple[str, str] | None = None
    advice: bool = False
    lists: tuple[str, ...] = ()


def _guide(value: float, which: str, unit: str) -> Threshold:
    return Threshold(value, which, unit, GUIDE)


_BEFORE = (
    Item(
        "mixed_precision",
        "Is the job's precision bf16?",
        JOB,
        measures.start("precision", lambda value: value == "bf16"),
        f"{_LAUNCH} -e gaudi_training_precision=bf16",
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
        f"{_LAUNCH} with --workers auto, or gaudi3_scale data workers",
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
        f"{_LAUNCH} with --checkpointing on",
        advice=True,
        lists=("Enable gradient checkpointing if OOM", "Enable gradient checkpointing for large models"),
    ),
    Item(
        "schedule",
        "Does the learning rate follow a schedule?",
        JOB,
        measures.start("schedule", lambda value: value != "constant"),
        f"{_LAUNCH} with --schedule cosine",
        advice=True,
        lists=("Use appropriate learning rate scheduling",),
    ),
    Item(
        "clipping",
        "Are gradients clipped?",
        JOB,
        measures.start("clip", lambda value: isinstance(value, (int, float)) and value > 0),
        f"{_LAUNCH} with --clip 1",
        advice=True,
        lists=("Implement gradient clipping",),
    ),
    Item(
        "automatic_checkpoints",
        "Does the job write checkpoints by itself?",
        JOB,
        measures.automatic_checkpoints,
        f"{_LAUNCH} with --checkpoint-every",
        advice=True,
        lists=("Implement automatic checkpoint saving",),
    ),
    Item(
        "recipe_cache",
        "Are compiled graphs kept from one start to the next?",
        NODE,
        measures.recipe_cache,
        "ansible-playbook gaudi3.scale.tuning",
        missing="the node has no file of flags",
        advice=True,
        lists=("**Caching**: Implement intelligent caching strategies",),
    ),
    Item(
        "tuned",
        "Was there a search over settings?",
        CLUSTER,
        measures.kept("tune_training"),
        "ansible-playbook gaudi3.scale.tune_training",
        missing="no report of a study is kept",
        lists=("**Auto-tuning**: Use automated hyperparameter optimization", "2. Automated optimization tuning"),
    ),
)

_DURING = (
    Item(
        "utilisation",
        "Are the cards busy under the job?",
        JOB,
        measures.utilisation,
        "ansible-playbook gaudi3.scale.show_training: where the time of a step goes",
        missing="no supervisor has seen cards under the job",
        threshold=_guide(0.85, LEAST, "of the time"),
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
        threshold=_guide(0.05, MOST, "of a step"),
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
        threshold=_guide(0.10, MOST, "of a step"),
        lists=("3. **Communication Overhead** (>10% of training time)",),
    ),
    Item(
        "collectives",
        "Were the collectives measured?",
        CLUSTER,
        measures.kept("measure_collectives"),
        "ansible-playbook gaudi3.scale.measure_collectives",
        missing="no report of them is kept",
        lists=("**Communication**: Optimize distributed communication", "4. Scaling optimizations"),
    ),
    Item(
        "gradient_norm",
        "Are gradients finite?",
        JOB,
        measures.gradient_norm,
        "write gradient_norm into the step lines of your program (docs/following.md)",
        missing="no step of the job tells gradient_norm",
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
        missing="the steps of the job count none",
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
        threshold=_guide(1.0, MOST, "s"),
        lists=("- **Storage**: <1s checkpoint save time",),
    ),
    Item(
        "storage",
        "Is the storage fast enough for data and checkpoints?",
        CLUSTER,
        measures.kept("measure_storage", lambda report: report.get("exit_code") == 0),
        "ansible-playbook gaudi3.scale.measure_storage",
        missing="no report of it is kept",
        lists=("Use fast storage for checkpoints",),
    ),
)

_HOSTS = (
    Item(
        "cpu_busy",
        "Are the processors free for the ranks?",
        NODE,
        measures.of_system("cpu_busy"),
        "top on the node; workers of the data loader (gaudi3_scale data workers)",
        missing="the node did not tell",
        threshold=_guide(0.80, MOST, "of the time"),
        lists=("- **CPU Usage**: <80% average",),
    ),
    Item(
        "memory_used",
        "Is memory left on the host?",
        NODE,
        measures.of_system("memory_used"),
        "ansible-playbook gaudi3.scale.host: huge pages are not a job's; fewer workers of the data loader",
        missing="the node did not tell",
        threshold=_guide(0.85, MOST, "of the memory"),
        lists=("- **Memory Usage**: <85% system memory",),
    ),
    Item(
        "io_wait",
        "Do processors wait for disks?",
        NODE,
        measures.of_system("io_wait"),
        "ansible-playbook gaudi3.scale.measure_storage",
        missing="the node did not tell",
        threshold=_guide(0.10, MOST, "of the time"),
        lists=("- **I/O Wait**: <10% CPU time",),
    ),
    Item(
        "failed_jobs",
        "How many of its jobs failed?",
        NODE,
        measures.failed_jobs,
        "ansible-playbook gaudi3.scale.show_training of a job that failed; qualify_nodes.yml",
        missing="the node has run no job",
        threshold=_guide(0.01, MOST, "of its jobs"),
        lists=("- **Stability**: <1% training failure rate",),
    ),
    Item(
        "verified",
        "Was every node sound at the end of site.yml?",
        CLUSTER,
        measures.kept("site", measures.all_ok),
        "ansible-playbook gaudi3.scale.site",
        missing="no report of site.yml or verify.yml is kept",
    ),
    Item(
        "qualified",
        "Has the node passed its last qualification?",
        NODE,
        measures.qualified,
        "ansible-playbook gaudi3.scale.qualify_nodes",
        missing="it was never qualified",
        lists=("3. Hardware-specific optimizations",),
    ),
)

_AFTER = (
    Item(
        "step_parts",
        "Is it known where the time of a step goes?",
        JOB,
        measures.step_parts,
        "ansible-playbook gaudi3.scale.show_training; docs/following.md says what a program has to tell",
        advice=True,
        lists=("Analyze bottlenecks",),
    ),
    Item(
        "recorded",
        "Is it on record with which versions and flags the job ran?",
        JOB,
        measures.recorded,
        f"{_LAUNCH} with gaudi3_scale.report_step in your program",
        advice=True,
        lists=("Document optimizations",),
    ),
    Item(
        "baseline",
        "Are the cluster's own figures kept?",
        CLUSTER,
        measures.kept("baseline"),
        "ansible-playbook gaudi3.scale.save_baseline",
        missing="no baseline is kept, or gaudi_audit_baseline does not name it",
        lists=("Update benchmarks",),
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
    Item(
        "same_flags",
        "Do all nodes train with the same flags?",
        CLUSTER,
        measures.same_flags,
        "ansible-playbook gaudi3.scale.tuning; explain_node.yml for what else differs",
        missing="fewer than two nodes have a file of flags",
        lists=("- **Reproducibility**: Consistent results across runs",),
    ),
)

ITEMS = (*_BEFORE, *_DURING, *_HOSTS, *_AFTER)
