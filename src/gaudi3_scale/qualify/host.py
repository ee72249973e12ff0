# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The first test: whether the node is fit for training, as ``verify.yml`` asks, without the training stack."""

from __future__ import annotations

import time

from gaudi3_scale.core._cards.hlml_interface import MOST_REPLACED_ROWS
from gaudi3_scale.core._node.check import advice, failed
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._qualify.plan import HOST
from gaudi3_scale.core._qualify.results import FAILED, PASSED, REBOOT, UNKNOWN, Result
from gaudi3_scale.core._releases.lookup import find_release
from gaudi3_scale.core._verify.measurement import measure
from gaudi3_scale.core._verify.verdict import Limits, verdict

_IDLE_MEMORY_MIB = 1024


def check_host(release: str, cards: int, run: Run, kernel_root: str, replaced_rows: int = MOST_REPLACED_ROWS) -> Result:
    """All that is wrong with cards, driver, firmware, temperatures, links and PCIe, each in one sentence.

    A program that had not ended says nothing against the node by itself.
    """
    begun = time.monotonic()
    limits = Limits(cards, "hpu", None, _IDLE_MEMORY_MIB, None, external_links=False, replaced_rows=replaced_rows)
    measured = measure(run, kernel_root, None)
    checks = verdict(measured, find_release(release), limits)
    problems = failed(checks)
    reasons = tuple(check.sentence for check in problems)
    told = any(not check.unknown for check in problems)
    state = (FAILED if told else UNKNOWN) if problems else PASSED
    limit = 0.0 if told or not problems else max(measured.late.values(), default=0.0)
    # What other nodes show can still make a fault of a time that was over.
    action, took = REBOOT if told or limit else "", time.monotonic() - begun
    return Result(HOST, "host", state, reasons, tuple(advice(checks)), took, action, limit)
