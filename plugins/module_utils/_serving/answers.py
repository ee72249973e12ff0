# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is told of each instance, and the wait for its first answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .._node.commands import Run
from .asking import endpoint_of
from .options import ServingOptions
from .plan import WantedInstance
from .ready import ANSWERING, STARTING, STOPPED, completes, did_not_start, refusal_of, starts_of, warm_up_of

POLL_S = 1.0


def wait_for(one: WantedInstance, options: ServingOptions, run: Run, sleep: Callable[[float], None]) -> dict[str, Any]:
    """Wait for a real completion; GaudiError where its unit ends meanwhile."""
    control = one.control
    endpoint = endpoint_of(control.address, control.port, control.certificate, control.key_file)
    _state, restarts = starts_of(control.unit, run)
    end = time.monotonic() + options.wait
    while True:
        if completes(endpoint, control.served_name):
            return {"state": ANSWERING, "warm_up": warm_up_of(control.unit, run).text}
        state, now = starts_of(control.unit, run)
        if state in ("failed", "inactive") or now > restarts:
            raise did_not_start(control, run)
        if time.monotonic() >= end:
            said = refusal_of(endpoint, control.served_name)
            warm_up = warm_up_of(control.unit, run)
            return {"state": STARTING, "warm_up": said or warm_up.text, "done": warm_up.done, "of": warm_up.of}
        sleep(POLL_S)


def shown(one: WantedInstance) -> dict[str, Any]:
    control = one.control
    scheme = "https" if control.certificate else "http"
    host = f"[{control.address}]" if ":" in control.address else control.address
    return {
        "name": control.name,
        "url": f"{scheme}://{host}:{control.port}",
        "served_name": control.served_name,
        "unit": control.unit,
        "model": control.model,
        "version": control.version,
        "modules": list(control.modules),
        "limits": dict(control.limits),
        "memory": list(one.size.sums),
        "graphs": one.graphs,
        "state": STOPPED,
        "warm_up": "",
    }
