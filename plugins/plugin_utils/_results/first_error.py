# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a job failed, for the top of its page: what the screen said, without the last lines of the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import mapping_of
from ansible_collections.gaudi3.scale.plugins.module_utils._job.followers import first_with_others
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import failure_from, failure_sentence


def first_error(infos: Mapping[str, Mapping[str, Any]], leader: str) -> list[str]:
    """The lines of it; empty for a job that did not fail. ``infos`` are what ``training_job_info`` returned by host."""
    known = mapping_of(infos.get(leader))
    if mapping_of(known.get("supervision")).get("outcome"):
        # What supervisors agreed upon is on every node the same.
        failure = failure_from(known.get("failure"))
        found = (str(failure.get("host") or leader), failure) if failure else None
    else:
        found = first_with_others({host: failure_from(info.get("failure")) for host, info in infos.items()})
    lines = failure_sentence(*found).splitlines() if found else []
    return [line for line in lines if not line.startswith("    ")]
