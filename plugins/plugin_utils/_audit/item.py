# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One item of an audit as data: what is asked, how it is measured, against what, and what to do about it.

``lists`` has the words of the checklists and tables of targets that guides have in circulation, so that who comes with
one finds each line of it here, or in ``not_measured.py`` with the reason. Their figures fail nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Measure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import GUIDE, Threshold

NODE, JOB, CLUSTER = "node", "job", "cluster"
NO_JOB = "no job is named, or none of its lines has it"
LAUNCH = "ansible-playbook gaudi3.scale.launch_training"


@dataclass(frozen=True)
class Item:
    """``of`` is asked of each NODE, of the JOB or of the CLUSTER. ``threshold`` None: what is measured is a truth.

    ``target``: there is a number, and only the site can say how much it has to be; the side and the unit of it.
    ``advice``: a choice that is right for most jobs and not for each, which fails only where the site requires it.
    ``missing`` says what nobody could measure; ``remedy`` is a command.
    """

    name: str
    asks: str
    of: str
    measure: Measure
    remedy: str
    missing: str = NO_JOB
    threshold: Threshold | None = None
    target: tuple[str, str] | None = None
    advice: bool = False
    lists: tuple[str, ...] = ()


def guide(value: float, which: str, unit: str) -> Threshold:
    return Threshold(value, which, unit, GUIDE)
