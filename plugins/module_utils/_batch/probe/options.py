# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The options of the module ``hpu_batch_probe`` as the values that the core works with; pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..._job.variables import variables_from
from ..choice import sharing
from ..trial import Workload
from .probe import Probe, parse_size

# Options that the core calls the same.
_SEARCH = ("maximum", "minimum", "multiple_of", "margin", "target_hpu_utilization", "objective", "verify")
_PLACE = ("timeout", "lock_timeout", "venv", "state_directory", "user")
_SHARE = ("global_batch", "world_size", "multiple_of", "learning_rate", "learning_rate_batch", "scaling")


def probe_from(options: Mapping[str, Any]) -> Probe:
    """The probe; raises GaudiError for a size that cannot be read."""
    limit = None if options["memory_limit"] is None else parse_size(options["memory_limit"])
    trial = {name: options[name] for name in ("steps", "device", "processes")}
    return Probe(
        workload=Workload(options["workload"], options["workload_options"], memory_limit=limit, **trial),
        environment_files=tuple(options["environment_files"]),
        environment=variables_from("environment", options["environment"]),
        share=sharing(**{name: options[name] for name in _SHARE}),
        **{name: options[name] for name in _SEARCH + _PLACE},
    )
