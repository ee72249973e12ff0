# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a workload's step takes, worked out on the host in a process of its own: a prior for the search."""

from __future__ import annotations

import json
import math
from typing import Mapping, Sequence

from .._node.json_file import parse_json
from .memory_model import Prior
from .prior_line import LONGEST
from .trial import Runner, Workload
from .trial_place import TrialPlace, read_left, trial_place
from .trial_processes import Ended, run_together

# Against eager PyTorch on a CPU the estimate was wrong by up to 11 %, and by what libraries keep for themselves.
# A compiler such as Gaudi's plans memory anew: how wrong it is there nobody has measured.
UNCERTAINTY = 0.15
TIMEOUT_S = 120.0


def estimate(
    workload: Workload,
    *,
    python: str,
    environment: Mapping[str, str],
    timeout: float = TIMEOUT_S,
    user: str | None = None,
    memory: int | None = None,
) -> Prior | None:
    """None where the workload cannot be run without contents, or runs on several ranks; no device is touched.

    It runs as ``user``; None: as the caller. ``memory`` is what a card has; None: the workload's limit, if it has one.
    """

    def run(requests: Sequence[Mapping[str, object]], seconds: float, place: TrialPlace) -> list[Ended]:
        commands = [[python, "-m", "gaudi3_scale.estimate.workload", json.dumps(one)] for one in requests]
        # PyTorch would load the bridge, and with it the card's library, by itself (torch 2.5 and newer).
        return run_together(commands, seconds, place, {**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})

    return estimate_by(run, workload, timeout, user, memory)


def estimate_by(
    run: Runner,
    workload: Workload,
    timeout: float = TIMEOUT_S,
    user: str | None = None,
    memory: int | None = None,
) -> Prior | None:
    """The same, in a process that ``run`` starts."""
    if workload.processes > 1:
        return None
    with trial_place("gaudi3-scale-estimate-", user) as place:
        path = place.result()
        run(
            [
                {
                    "estimate": True,
                    "workload": workload.function,
                    "options": dict(workload.options),
                    "memory": memory or workload.memory_limit,
                    "result": path,
                }
            ],
            timeout,
            place,
        )
        return _prior(read_left(path))


def _prior(result: str | None) -> Prior | None:
    try:
        data = parse_json(result or "")
        static, sample = float(data["static_bytes"]), float(data["bytes_per_sample"])
        period, offset, bends = int(data.get("period", 1)), int(data.get("offset", 0)), data.get("bends") is True
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    reported = math.isfinite(static) and 0 < sample < math.inf and 0 <= offset < period <= LONGEST
    return Prior(static, sample, UNCERTAINTY, period, offset, bends) if reported else None
