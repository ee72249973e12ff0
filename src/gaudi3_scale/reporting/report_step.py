# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3_scale.report_step``: one call a step, from any training loop. Standard library only."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from gaudi3_scale.reporting.steps import StepReports, of_this_process

_reports: StepReports | None = None
_complained = False


def report_step(
    step: int,
    *,
    loss: object = None,
    tokens: object = None,
    samples: object = None,
    max_steps: int | None = None,
    learning_rate: object = None,
    busy_seconds: object = None,
    gradient_norm: object = None,
    flops: object = None,
) -> None:
    """Tell the job that optimizer step ``step`` is finished; to be called on every rank, after each step.

    ``step`` counts over all epochs and restarts. ``loss``: of this step; of rank 0's the newest since the line before
    is shown. ``tokens``, ``samples``: what this rank alone has worked on in the step; all ranks are taken to have as
    much. ``max_steps``: the last step of the job. ``busy_seconds``: what a step takes of this rank's own work, without
    waiting for others; slow ranks are found by it. ``gradient_norm``: of the step, before clipping. ``flops``: the
    floating-point operations of the model in the step, of this rank alone, for its share of a Gaudi's peak. Numbers may
    be Python's, NumPy's or PyTorch's; a tensor is read only when it is written, at most every two seconds.

    Outside a job it does nothing. It never raises: what cannot be written or is no number is said once on standard
    error, and so is a step before the last one.
    """
    reports = _reports or _begin()
    if not reports.active:
        return
    try:
        reports.report(
            step,
            loss=loss,
            tokens=tokens,
            samples=samples,
            max_steps=max_steps,
            learning_rate=learning_rate,
            busy_seconds=busy_seconds,
            gradient_norm=gradient_norm,
            flops=flops,
        )
    except Exception as error:
        _complain(error)


def _begin() -> StepReports:
    global _reports
    _reports = reports = of_this_process()
    if reports.active:
        begun_by = os.getpid()
        # A fork of this process may end as Python ends; the job's step is not its to tell.
        atexit.register(lambda: reports.finish() if os.getpid() == begun_by else None)
    return reports


def _complain(error: Exception) -> None:
    """A training of days does not end for a report, whatever is wrong with it."""
    global _complained
    if not _complained:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"gaudi3_scale: a report was dropped ({type(error).__name__}: {error}).\n")
    _complained = True
