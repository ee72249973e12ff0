# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What came of a node's tests, as it is kept in files and told by modules; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Of a test. Unknown: it could not be asked, which is neither good nor bad.
PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"
# Of a run.
ABSENT, RUNNING, ENDED, INTERRUPTED = "absent", "running", "ended", "interrupted"
# Of a node.
HEALTHY, UNHEALTHY, INCONCLUSIVE = "healthy", "unhealthy", "inconclusive"
# How the program tells them to whoever runs it, such as Slurm or systemd.
EXIT_CODES = {HEALTHY: 0, UNHEALTHY: 1, INCONCLUSIVE: 2}
# What an operator does about a node, the gravest first. Again: its time was over, so it has to be measured once more.
ISOLATE, REBOOT, RESET, AGAIN, WATCH = "isolate", "reboot", "reset", "again", "watch"
ACTIONS = (ISOLATE, REBOOT, RESET, AGAIN, WATCH)


@dataclass(frozen=True)
class Result:
    """One test. ``reasons`` are sentences, ``remarks`` such as make nothing fail; ``action`` is one of ``ACTIONS``.

    ``limit``: it had not ended after so many seconds, and was ended; 0 where it ended by itself.
    """

    test: str
    stage: str
    state: str
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    action: str = ""
    limit: float = 0.0

    def with_reasons(self, reasons: Sequence[str]) -> Result:
        """The same with more that speaks against the node, which then fails."""
        return replace(self, state=FAILED, reasons=(*self.reasons, *reasons)) if reasons else self

    def unless_met(self, unmet: Sequence[str]) -> Result:
        """The same where all was there that the test needs, or where it passed; else its failure says nothing."""
        if not unmet or self.state != FAILED:
            return self
        return replace(self, state=UNKNOWN, reasons=(*self.reasons, *unmet), action="")


def node_state(results: Sequence[Mapping[str, Any]], planned: Iterable[str]) -> str:
    """Healthy only where each planned test was measured and passed."""
    states = {str(result["test"]): result["state"] for result in results}
    if FAILED in states.values():
        return UNHEALTHY
    wanted = list(planned)
    return HEALTHY if wanted and all(states.get(test) == PASSED for test in wanted) else INCONCLUSIVE


def reasons_of(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each thing that speaks against the node, or that could not be told."""
    bad = [result for result in results if result["state"] != PASSED]
    in_order = sorted(bad, key=lambda result: result["state"] != FAILED)
    return [f"{result['test']}: {reason}" for result in in_order for reason in result["reasons"]]
