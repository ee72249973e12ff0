# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a change of the driver left a node that works: all cards there and initialized, on the driver of the release.

What a job needs beyond that (links, firmware, memory, PyTorch) is judged by ``_verify/verdict.py`` when the node is
qualified again; a card that was not as it should be before the change is no reason to go back.
"""

from __future__ import annotations

import time
from typing import Callable

from .._cards.health import card_checks
from .._cards.hpu_facts import HpuFacts, gather
from .._errors import GaudiError
from .._node.check import Check, failed, refusal
from .._node.commands import Run
from .._releases.lookup import Release

_POLL_S = 3.0


def driver_checks(facts: HpuFacts, release: Release, cards: int) -> list[Check]:
    """Pure: the checks of a node whose driver was changed."""
    missing = [module for module in release.modules if module not in facts.driver.modules]
    return [
        Check("modules", not missing, "all loaded", f"{', '.join(missing)} not loaded", "see `dmesg`"),
        Check(
            "driver",
            facts.driver.release == release.version,
            release.version,
            facts.driver.version or "none",
            "see `modinfo habanalabs`",
        ),
        *card_checks(facts, cards),
    ]


def require_healthy(
    release: Release,
    cards: int,
    run: Run,
    kernel_root: str,
    settle_timeout: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the cards have come up; raises :class:`GaudiError` with every reason when they have not in time."""
    deadline = time.monotonic() + settle_timeout
    while True:
        checks = failed(driver_checks(gather(run, kernel_root), release, cards))
        # What hl-smi does not tell may come yet, and is no fault where it does not.
        problems = [check for check in checks if not check.unknown]
        if not checks or (not problems and time.monotonic() >= deadline):
            return
        # A card that is not on the bus does not come up later; one in reset does.
        if time.monotonic() >= deadline or not any(check.name in ("status", "temperature") for check in checks):
            raise GaudiError(refusal(f"The driver {release.version} does not work", problems))
        sleep(_POLL_S)
