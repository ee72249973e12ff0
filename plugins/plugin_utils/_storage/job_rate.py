# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The tokens a second that a job of this cluster has told last, of all its ranks."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import number, record, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

_MODULE = "gaudi3.scale.training_job_info"
_ANSWER = record({"tokens_per_second": number})


def tokens_per_second(job: str, hosts: Sequence[str], ask: Ask) -> float:
    """Raises GaudiError where no node knows it."""
    for host, answer in ask(_MODULE, {host: {"name": job} for host in hosts}).items():
        step = answer.get("last_step")
        if isinstance(step, dict) and isinstance(step.get("tokens_per_second"), (int, float)):
            found: float = taken(host, "training_job_info", _ANSWER, step)["tokens_per_second"]
            return found
    raise GaudiError(
        f"job is {job!r}, and no node has a step of it with tokens/s; give another job, or tokens_per_second."
    )
