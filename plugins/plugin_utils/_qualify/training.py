# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The last stage: a short training over all that is left, as a job of a user would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ended, Group, run_jobs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Late
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import number, record, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over

JOB = "qualify-training"
_STEP = record({"last_step": record({"loss": number, "tokens_per_second": number}), "first_loss": number})


@dataclass(frozen=True)
class Trained:
    """``why`` it did not end well, or what it showed. ``absent``, ``failed``, ``late`` as of
    :class:`_group_jobs.Ended`."""

    why: str = ""
    first_loss: float = 0.0
    last_loss: float = 0.0
    tokens_per_second: float = 0.0
    absent: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    late: Late | None = None

    @property
    def figures(self) -> Mapping[str, float]:
        return {} if self.why else {"tokens_per_second": self.tokens_per_second, "loss": self.last_loss}


def train(nodes: Sequence[str], text: Sequence[str], steps: int, seconds: int, over: Over) -> Trained:
    """Train the built-in model on ``text`` for ``steps``, for ``seconds`` at most; nothing of it is kept."""
    over.show(f"A training of {steps} steps over {len(nodes)} nodes.")
    words = ["-m", "gaudi3_scale.train", "--text", *text, "--max-steps", str(steps), "--checkpoint-every", "0"]
    fresh = ["--resume", "never", "--metrics-every", "1", "--loggers", "none"]
    ranks = replace(over.wanted.ranks, timeout=max(seconds, over.wanted.ranks.timeout))
    group = Group(JOB, tuple(nodes))
    (ended,) = run_jobs(
        [group], [*words, *fresh, "--device", over.wanted.ranks.device], ranks, over.addresses, over.ask
    )
    return _trained(nodes[0], ended)


def _trained(first: str, ended: Ended) -> Trained:
    if ended.why:
        return Trained(ended.why, absent=ended.absent, failed=ended.failed, late=ended.late)
    try:
        # A loss that is no finite number is refused here.
        said = taken(first, "training_job_info", _STEP, ended.first)
    except GaudiError as error:
        return Trained(str(error))
    step = said["last_step"]
    return Trained("", said["first_loss"], step["loss"], step["tokens_per_second"])
