# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the shares of a job on all its nodes mean together."""

from __future__ import annotations

from typing import Mapping

from .job_failure import failure_sentence, first_failure_of
from .job_state import ABSENT, FAILED, RUNNING, STOPPED, SUCCEEDED


def job_state(shares: Mapping[str, str]) -> str:
    """The state of the whole job: it fails as soon as one share does, and has succeeded when all have."""
    states = set(shares.values())
    for state in (FAILED, ABSENT, STOPPED, RUNNING):
        if state in states:
            return FAILED if state == ABSENT else state
    return SUCCEEDED


def verdict_sentence(name: str, shares: Mapping[str, str], failures: Mapping[str, Mapping[str, object]]) -> str:
    """Why a job that did not succeed did not; ``failures`` by host, as ``training_job_info`` returns them."""
    first = first_failure_of(failures)
    if first is not None:
        return f"Job {name} failed: {failure_sentence(*first)}"
    absent = sorted(host for host, state in shares.items() if state == ABSENT)
    if absent:
        return f"Job {name} is not on {', '.join(absent)}; start it there, on all its nodes at once."
    stopped = sorted(host for host, state in shares.items() if state == STOPPED)
    return f"Job {name} was stopped on {', '.join(stopped)} before it was done; start it again to go on."
