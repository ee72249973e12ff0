# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One probe trial: ``python -m gaudi3_scale.trial REQUEST`` runs a few steps of a workload at one batch size.

REQUEST is a JSON object; ``gaudi3_scale.core.batch_trial`` starts the process and reads what it leaves::

    {"workload": "module:function", "options": {}, "batch_size": 32, "steps": 3, "device": "hpu",
     "memory_limit": null, "result": "/path/to/result.json"}

``memory_limit`` (bytes beyond what the process has once PyTorch and the workload are imported) is for ``cpu``, where
it stands for a card's memory. The result is a JSON object too::

    {"outcome": "ok", "peak_memory_bytes": 123, "step_seconds": 0.5, "message": ""}

``outcome`` is ok, out_of_memory or workload_error; ``step_seconds`` is the median of the steps after the first. The
exit status is 0 whenever a result was written. A trial that dies leaves none.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Mapping

import torch

from gaudi3_scale.core.batch_search import OK, OUT_OF_MEMORY, WORKLOAD_ERROR
from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.devices import choose_device, local_device, synchronize
from gaudi3_scale.memory import PeakMemory, memory_limit, start_threads
from gaudi3_scale.out_of_memory import is_out_of_memory

Result = dict[str, Any]


def main() -> None:
    request = json.loads(sys.argv[1])
    result = run_trial(request)
    path = Path(request["result"])
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(json.dumps(result), encoding="utf-8")
    unfinished.replace(path)


def run_trial(request: Mapping[str, Any]) -> Result:
    """Run the trial in this process; never raises for what the workload does."""
    try:
        device = local_device(choose_device(request["device"]), local_rank=0)
        function = load_workload(request["workload"])
        return _measure(function, request, device)
    # A workload may also end its process: sys.exit() in a script that was meant to be run.
    except (Exception, SystemExit) as error:
        traceback.print_exception(error)
        outcome = OUT_OF_MEMORY if is_out_of_memory(error) else WORKLOAD_ERROR
        return _result(outcome, message=_one_line(error))


def load_workload(name: str) -> Callable[..., Callable[[], object]]:
    """The function meant by ``module:function``. Raises GaudiError when there is none."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise GaudiError(f"workload {name!r} is not of the form module:function.")
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:
        raise GaudiError(
            f"workload {name} cannot be imported ({_one_line(error)}); install its module in the training venv."
        ) from error
    if not callable(function):
        raise GaudiError(f"workload {name}: {module} has no function {attribute}; correct the name.")
    return function


def _measure(function: Callable[..., Callable[[], object]], request: Mapping[str, Any], device: torch.device) -> Result:
    on_cpu = device.type == "cpu"
    if on_cpu:
        start_threads()
    peak = PeakMemory(device)
    with memory_limit(request["memory_limit"] if on_cpu else None):
        step = function(batch_size=request["batch_size"], device=device, **request["options"])
        if not callable(step):
            raise GaudiError(
                f"workload {request['workload']} returned {type(step).__name__}; it has to return a function that "
                "runs one training step."
            )
        seconds = [_seconds(step, device) for _ in range(request["steps"])]
    return _result(OK, peak_memory_bytes=peak.read(), step_seconds=statistics.median(seconds[1:] or seconds))


def _seconds(step: Callable[[], object], device: torch.device) -> float:
    start = time.perf_counter()
    step()
    synchronize(device)
    return time.perf_counter() - start


def _result(
    outcome: str, *, peak_memory_bytes: int | None = None, step_seconds: float | None = None, message: str = ""
) -> Result:
    return {
        "outcome": outcome,
        "peak_memory_bytes": peak_memory_bytes,
        "step_seconds": step_seconds,
        "message": message,
    }


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, GaudiError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main()
