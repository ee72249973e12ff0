# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What preflight says of the life of what a node has and shall get. Advice: a node that works stays one. Pure."""

from __future__ import annotations

from datetime import date

from .._cards.hpu_facts import HpuFacts
from .._node.check import Check
from .._releases.row import Release
from .._releases.stack import Stack, age_sentence, life_cycles_of


def life_cycle_check(facts: HpuFacts, release: Release, today: date) -> Check:
    """One check, so that one warning has all of it; its age is told with what it warns about."""
    stack = Stack(
        release=release.version,
        generations=facts.generations,
        os=facts.system.os,
        kernels=[facts.kernel.release] if facts.kernel.release else [],
        pytorch="" if "pytorch" in release.inferred else release.pytorch,
    )
    told = life_cycles_of(stack, today)
    bad = [one for one in told if one.is_bad]
    sentences = [*(one.sentence(today) for one in bad), age_sentence(told, today)]
    return Check(
        "life cycles",
        not bad,
        "nothing that is no longer supported or has a known hole",
        ", ".join(one.subject for one in bad) or "nothing",
        "",
        advice=True,
        message=" ".join(filter(None, sentences)) if bad else "",
    )
