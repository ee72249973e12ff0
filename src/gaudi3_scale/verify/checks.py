# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a node that may be working: nothing here opens a card, and a job's memory is no fault."""

from __future__ import annotations

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.check import failed, refusal
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._qualify.files import Files
from gaudi3_scale.core._qualify.results import UNHEALTHY
from gaudi3_scale.core._releases.lookup import find_release
from gaudi3_scale.core._verify.measurement import measure
from gaudi3_scale.core._verify.verdict import Limits, verdict

_ANY_MEMORY_MIB = 1 << 30


def problems(release: str, cards: int, run: Run, kernel_root: str, files: Files) -> list[str]:
    """A sentence for each: cards, driver, firmware, temperature, errors, links, and the last qualification.

    Raises GaudiError where nothing is known to be wrong, and something could not be told.
    """
    limits = Limits(cards, "hpu", None, _ANY_MEMORY_MIB, None, external_links=False)
    checks = verdict(measure(run, kernel_root, None), find_release(release), limits)
    bad = failed(checks)
    found = [*(check.sentence for check in bad if not check.unknown), *_qualified(files)]
    if bad and not found:
        raise GaudiError(refusal("It is unknown whether this node is healthy", bad))
    return found


def _qualified(files: Files) -> list[str]:
    last = files.read(files.verdict)
    if last.get("state") != UNHEALTHY:
        return []
    reasons = [str(reason) for reason in last.get("reasons", ())]
    return [f"the qualification of {last.get('time', 'an unknown time')} failed: {(reasons or ['no reason given'])[0]}"]
