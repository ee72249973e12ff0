# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of jobs, for the node that has their rank 0, and whether they run, for each of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional

from .._follow.json_lines import mapping_of
from .._follow.worker_group import RUNNING
from .exposition import COUNTER, GAUGE, Family, Sample
from .job_lines import number
from .job_readings import JobReading, share_of_step

# Not "job", by which a Prometheus calls those that it scrapes.
LABEL = "training"

# Whatever else a line has is no part of it (docs/follow.md).
MEMORY_PARTS = ("weights", "gradients", "optimizer", "activations", "rest")

Value = Callable[[JobReading], Optional[float]]


def _of_step(name: str) -> Value:
    return lambda job: number(job.told.step.get(name))


def _share_of_peak(job: JobReading) -> float | None:
    """No card does more than it can: what says so is wrong, and not told on."""
    share = number(job.told.step.get("mfu"))
    return share if share is not None and 0 <= share <= 1 else None


def _memory_of(job: JobReading, part: str) -> float | None:
    return number(mapping_of(job.told.step.get("memory_parts")).get(part))


def _loss(job: JobReading) -> float | None:
    """A loss that is no number has a name in its line (json_lines.object_of)."""
    loss: Any = job.told.step.get("loss")
    return float("nan") if isinstance(loss, str) else number(loss)


VALUES: tuple[tuple[str, str, str, Value], ...] = (
    ("gaudi_job_running", GAUGE, "1 while processes of the job are on this node.", lambda job: job.state == RUNNING),
    ("gaudi_job_started_timestamp_seconds", GAUGE, "When the job was started on this node.", lambda job: job.started),
    ("gaudi_job_restarts_total", COUNTER, "How often the job was started again.", lambda job: job.restarts),
    ("gaudi_job_step", GAUGE, "The last step that is known.", _of_step("step")),
    ("gaudi_job_steps", GAUGE, "The step with which the job ends.", _of_step("max_steps")),
    ("gaudi_job_step_timestamp_seconds", GAUGE, "When that step was reported.", _of_step("time")),
    (
        "gaudi_job_step_interval_seconds",
        GAUGE,
        "Typical time between the last reported steps.",
        lambda job: job.told.step_interval,
    ),
    ("gaudi_job_loss", GAUGE, "The loss of the last step; NaN where it is not a number.", _loss),
    ("gaudi_job_gradient_norm", GAUGE, "Norm of the last step's gradients before clipping.", _of_step("gradient_norm")),
    ("gaudi_job_tokens_per_second", GAUGE, "Tokens of all cards.", _of_step("tokens_per_second")),
    ("gaudi_job_samples_per_second", GAUGE, "Samples of all cards.", _of_step("samples_per_second")),
    (
        "gaudi_job_data_wait_ratio",
        GAUGE,
        "Fraction of a step spent waiting for data.",
        lambda job: share_of_step(job.told.step, "data"),
    ),
    (
        "gaudi_job_communication_ratio",
        GAUGE,
        "Fraction of a step spent waiting for gradients of other ranks.",
        lambda job: share_of_step(job.told.step, "communication"),
    ),
    ("gaudi_job_mfu_ratio", GAUGE, "Fraction of the cards' peak that the model makes use of.", _share_of_peak),
    ("gaudi_job_memory_used_bytes", GAUGE, "The most memory of the fullest rank so far.", _of_step("memory_bytes")),
    (
        "gaudi_job_memory_limit_bytes",
        GAUGE,
        "Memory that a rank may use, where a card bounds it.",
        lambda job: number(job.told.start.get("memory_limit_bytes")),
    ),
    (
        "gaudi_job_graph_compilations_total",
        COUNTER,
        "Graphs that the bridge has compiled in the first rank's process.",
        _of_step("graph_compilations"),
    ),
    (
        "gaudi_job_recipe_cache_hits_total",
        COUNTER,
        "Graphs that were found in the recipe cache.",
        _of_step("recipe_cache_hits"),
    ),
    (
        "gaudi_job_recipe_cache_misses_total",
        COUNTER,
        "Graphs that were not found in the recipe cache.",
        _of_step("recipe_cache_misses"),
    ),
    (
        "gaudi_job_checkpoint_timestamp_seconds",
        GAUGE,
        "When the last checkpoint was written.",
        lambda job: number(job.told.checkpoint.get("time")),
    ),
)


def job_families(jobs: Sequence[JobReading]) -> Iterable[Family]:
    """A value that a job does not tell has no sample."""
    states = tuple(Sample(1, {LABEL: job.name, "state": job.state}) for job in jobs)
    yield Family("gaudi_job_info", "1 for each job that runs here, or ended within the hour.", states)
    cards = tuple(Sample(1, {LABEL: job.name, "card": str(module)}) for job in jobs for module in job.modules)
    if cards:
        yield Family("gaudi_job_card", "1 for each card that a job which runs here has, by its module id.", cards)
    parts = tuple(
        Sample(size, {LABEL: job.name, "part": part})
        for job in jobs
        for part, size in ((part, _memory_of(job, part)) for part in MEMORY_PARTS)
        if size is not None
    )
    yield Family("gaudi_job_memory_part_bytes", "What the memory of the fullest rank is used for.", parts)
    for name, kind, about, value in VALUES:
        known = ((job, value(job)) for job in jobs)
        yield Family(
            name, about, tuple(Sample(found, {LABEL: job.name}) for job, found in known if found is not None), kind
        )
