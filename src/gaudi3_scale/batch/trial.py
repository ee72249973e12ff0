# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One probe trial: ``python -m gaudi3_scale.batch.trial REQUEST`` runs a few steps of a workload at one batch size.

REQUEST is a JSON object; ``gaudi3_scale.core._batch.trial`` starts the process and reads what it leaves::

    {"workload": "module:function", "options": {}, "batch_size": 32, "steps": 3, "warm_up": 1, "device": "hpu",
     "memory_limit": null, "result": "/path/to/result.json"}

``memory_limit`` (bytes beyond what the process has once PyTorch and the workload are imported) is for ``cpu``, where
it stands for a card's memory. The result is a JSON object too::

    {"outcome": "ok", "message": "", "peak_memory_bytes": 123, "resting_memory_bytes": 45, "peak_spread_bytes": 0,
     "limit_bytes": 200, "used_by_others_bytes": null, "held_memory_bytes": null, "step_seconds": 0.5,
     "seconds_of_steps": [0.5, 0.5, 0.5], "losses": [1.0, 0.9, 0.8], "warm_up_seconds": 2.0}

``outcome`` is ok, out_of_memory or workload_error; ``step_seconds`` is the median of the steps after those to warm up.
The exit status is 0 whenever a result was written. A trial that dies leaves none.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import torch

from gaudi3_scale.batch.out_of_memory import is_out_of_memory
from gaudi3_scale.batch.process_memory import limited_process
from gaudi3_scale.batch.trial_steps import Steps, run_steps
from gaudi3_scale.core._batch.search import OK, OUT_OF_MEMORY, WORKLOAD_ERROR
from gaudi3_scale.core._cards.hbm_use import held_bytes
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import choose_device, local_device
from gaudi3_scale.memory import CudaMemory, DeviceMemory, GaudiMemory
from gaudi3_scale.ranks import ranks_from

Result = dict[str, Any]
Function = Callable[..., Callable[[], object]]


def main() -> None:
    request = json.loads(sys.argv[1])
    write_result(request, run_trial(request))
    if torch.distributed.is_initialized():
        # The exit handlers of a process group wait for ranks that may never answer again.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def write_result(request: Mapping[str, Any], result: Result) -> None:
    """The file appears whole or not at all."""
    path = Path(request["result"])
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(json.dumps(result), encoding="utf-8")
    unfinished.replace(path)


def run_trial(request: Mapping[str, Any], function: Function | None = None) -> Result:
    """Run the trial in this process; never raises for what the workload does. ``function`` may be given instead."""
    try:
        device = local_device(choose_device(request["device"]), ranks_from(os.environ).local_rank)
        return _measure(function or load_workload(request["workload"]), request, device)
    # A workload may also end its process: sys.exit() in a script that was meant to be run.
    except (Exception, SystemExit) as error:
        traceback.print_exception(error)
        outcome = OUT_OF_MEMORY if is_out_of_memory(error) else WORKLOAD_ERROR
        return {"outcome": outcome, "message": _one_line(error)}


def load_workload(name: str) -> Function:
    """The function meant by ``module:function``. Raises GaudiError when there is none."""
    module, _colon, attribute = name.partition(":")
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
    found: Function = function
    return found


def _measure(function: Function, request: Mapping[str, Any], device: torch.device) -> Result:
    with _memory_of(device, request["memory_limit"]) as memory:
        try:
            step = function(batch_size=request["batch_size"], device=device, **request["options"])
            if not callable(step):
                raise GaudiError(
                    f"workload {request['workload']} returned {type(step).__name__}; it has to return a function that "
                    "runs one training step."
                )
            steps = run_steps(step, device, memory, request["steps"], request["warm_up"])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return {"outcome": OUT_OF_MEMORY, "message": _one_line(error), **_memory(memory)}
        return {"outcome": OK, "message": "", **_memory(memory), **_measured(steps)}


@contextmanager
def _memory_of(device: torch.device, limit: int | None) -> Iterator[DeviceMemory]:
    if device.type == "cpu":
        with limited_process(limit) as process:
            yield process
    else:
        yield GaudiMemory() if device.type == "hpu" else CudaMemory(device)


def _memory(memory: DeviceMemory) -> Result:
    """A process that ran out of memory on a card may not be able to say its peak any more; then nobody can."""
    try:
        peak = memory.peak()
    except RuntimeError:
        peak = None
    return {
        "peak_memory_bytes": peak,
        "limit_bytes": memory.limit,
        "used_by_others_bytes": memory.used_by_others,
        "held_memory_bytes": sum(held_bytes("self").values()) or None,
    }


def _measured(steps: Steps) -> Result:
    return {
        "step_seconds": statistics.median(steps.seconds),
        "resting_memory_bytes": min(steps.resting),
        "peak_spread_bytes": max(steps.peaks) - min(steps.peaks),
        "seconds_of_steps": steps.seconds,
        "losses": steps.losses,
        "warm_up_seconds": steps.warm_up_seconds,
    }


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, GaudiError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main()
