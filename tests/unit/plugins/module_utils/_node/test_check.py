# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import (
    Check,
    advice,
    as_results,
    failed,
    refusal,
)

GOOD = Check("cards", True, "8", "8", "")
BAD = Check("cards", False, "at least 8", "7", "reseat the card")
WORSE = Check("release", False, "", "", "", message="Release '9' is not known.")
HINT = Check("iommu=pt", False, "iommu=pt", "none", "reboot", advice=True)


def test_a_failure_is_one_sentence_with_its_remedy():
    assert BAD.sentence == "cards: found 7, expected at least 8; reseat the card."
    assert WORSE.sentence == "Release '9' is not known."


def test_advice_stands_against_nothing():
    assert failed([GOOD, BAD, HINT]) == [BAD]
    assert advice([GOOD, BAD, HINT]) == ["iommu=pt: found none, expected iommu=pt; reboot."]


def test_one_reason_is_told_plainly_and_several_are_counted():
    assert refusal("No", [BAD]) == f"No: {BAD.sentence}"
    assert refusal("No", [BAD, WORSE]) == f"No, 2 reasons: (1) {BAD.sentence} (2) {WORSE.sentence}"


def test_results_are_plain_dictionaries():
    assert as_results([BAD]) == [
        {
            "name": "cards",
            "ok": False,
            "expected": "at least 8",
            "found": "7",
            "remedy": "reseat the card",
            "advice": False,
            "message": "",
            "unknown": False,
        }
    ]
