# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a job failed, for the screen and the top of the page: without the log that leads to an exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import mapping_of
from ansible_collections.gaudi3.scale.plugins.module_utils._job.followers import first_with_others
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import (
    failure_from,
    failure_sentence,
    texts_of,
)

# Lines of the log of a rank that has named no exception.
LAST_WORDS = 5


def first_error(infos: Mapping[str, Mapping[str, Any]], leader: str) -> list[str]:
    """The lines of it; empty for a job that did not fail. ``infos`` are what ``training_job_info`` returned by host."""
    known = mapping_of(infos.get(leader))
    if mapping_of(known.get("supervision")).get("outcome"):
        # What supervisors agreed upon is on every node the same.
        failure = failure_from(known.get("failure"))
        found = (str(failure.get("host") or leader), failure) if failure else None
    else:
        found = first_with_others({host: failure_from(info.get("failure")) for host, info in infos.items()})
    if found is None:
        return []
    host, failure = found
    # An exception says it all. What ended without one may have said why, as its last words.
    said = [] if failure["exception"] else texts_of(failure, "lines")[-LAST_WORDS:]
    return failure_sentence(host, {**failure, "lines": said}).splitlines()
