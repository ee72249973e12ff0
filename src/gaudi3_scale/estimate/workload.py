# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a workload's step from shapes alone: ``python -m gaudi3_scale.estimate.workload REQUEST``.

The batch-size probe starts from it. REQUEST is ``{"workload": "module:function", "options": {}, "memory": null,
"result": "/path"}``, with the bytes of a card where they are known; the result ``{"static_bytes": 1,
"bytes_per_sample": 2, "period": 1, "offset": 0, "bends": false}``: batches may be filled up to a multiple of the
period, and a sample may take more the more there are. A workload that cannot run so (it reads a value, or moves its
model to another type) leaves none. What a compiler makes of the step (Gaudi's graphs) is not in it.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Mapping

import torch

from gaudi3_scale.batch.trial import Function, load_workload, write_result
from gaudi3_scale.core._batch.prior_line import line_of
from gaudi3_scale.estimate.live_tensors import Shapes

# The second has the optimizer's state from its start.
STEPS = 2


def main() -> None:
    request = json.loads(sys.argv[1])
    write_result(request, answer(request))


def answer(request: Mapping[str, Any]) -> dict[str, float]:
    return estimate(load_workload(request["workload"]), request["options"], request.get("memory"))


def estimate(function: Function, options: Mapping[str, Any], memory: float | None = None) -> dict[str, float]:
    """Bytes of a step without samples, and of a sample, as a prior of the search has them."""
    found = line_of(lambda size: peak_bytes(function, options, size), memory)
    return {
        "static_bytes": found.static_bytes,
        "bytes_per_sample": found.bytes_per_sample,
        "period": found.period,
        "offset": found.offset,
        "bends": found.bends,
    }


def peak_bytes(function: Function, options: Mapping[str, Any], batch_size: int) -> int:
    """The most that tensors take at a time, from the first on."""
    with Shapes()() as live:
        step = function(batch_size=batch_size, device=torch.device("cpu"), **options)
        for _step in range(STEPS):
            step()
    return live.peak


if __name__ == "__main__":
    main()
