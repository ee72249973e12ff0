# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A check as a value: what was expected, what was found, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Check:
    """One judged property of a node.

    ``advice`` is a check whose failure is told and never stops anything. ``message`` is the failure's whole sentence
    where the parts do not make a good one. ``unknown``: nobody could tell, so that it is not ok, and no fault.
    """

    name: str
    ok: bool
    expected: str
    found: str
    remedy: str
    advice: bool = False
    message: str = ""
    unknown: bool = False

    @property
    def sentence(self) -> str:
        """The failure in one sentence."""
        return self.message or f"{self.name}: found {self.found}, expected {self.expected}; {self.remedy}."


def failed(checks: Iterable[Check]) -> list[Check]:
    """The checks that stand against the node."""
    return [check for check in checks if not check.ok and not check.advice]


def advice(checks: Iterable[Check]) -> list[str]:
    """Sentences of the checks that only advise."""
    return [check.sentence for check in checks if not check.ok and check.advice]


def refusal(subject: str, failures: Iterable[Check]) -> str:
    """All reasons in one message; ``subject`` says what cannot be done or is not as it should be."""
    sentences = [check.sentence for check in failures]
    if len(sentences) == 1:
        return f"{subject}: {sentences[0]}"
    listed = " ".join(f"({number}) {sentence}" for number, sentence in enumerate(sentences, start=1))
    return f"{subject}, {len(sentences)} reasons: {listed}"


def as_results(checks: Iterable[Check]) -> list[dict[str, object]]:
    """The checks as a module returns them."""
    return [asdict(check) for check in checks]


def as_failures(checks: Iterable[Check]) -> list[dict[str, object]]:
    """Failed checks as a module that fails returns them: Ansible prints all of it, and its message has their texts."""
    return [{"name": check.name, "ok": check.ok, "unknown": check.unknown} for check in checks]
