# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A limit with who says so; pure. What has no source of its own may warn, and never fails anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import written

# The site's own; the vendor's documents; guides in circulation, which measured nothing on these cards.
SITE, VENDOR, GUIDE = "site", "vendor", "guide"
LEAST, MOST = "at least", "at most"


@dataclass(frozen=True)
class Threshold:
    """``value`` in ``unit``; ``which`` is LEAST or MOST."""

    value: float
    which: str
    unit: str
    provenance: str

    def __post_init__(self) -> None:
        if not self.unit or self.provenance not in (SITE, VENDOR, GUIDE) or self.which not in (LEAST, MOST):
            raise ValueError(f"{self} is not a threshold: it needs a unit, a side and a source")

    def is_met(self, value: float) -> bool:
        return value >= self.value if self.which == LEAST else value <= self.value

    @property
    def counts(self) -> bool:
        """Whether to miss it is a failure, or something to look at."""
        return self.provenance != GUIDE

    @property
    def words(self) -> str:
        who = {SITE: "your own target", VENDOR: "the vendor", GUIDE: "a guideline without a source"}[self.provenance]
        return f"{self.which} {written(self.value)} {self.unit} ({who})"


def targets_of(given: Mapping[str, object], known: Mapping[str, object]) -> dict[str, float]:
    """The site's targets by item; raises GaudiError for one that no item has, or that is no number."""
    for name, value in given.items():
        if name not in known:
            raise GaudiError(f"gaudi_audit_targets names {name}, which has no target; known are {', '.join(known)}.")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e18:
            raise GaudiError(f"gaudi_audit_targets has {name}: {value!r}; give a number.")
    return {name: float(value) for name, value in given.items()}  # type: ignore[arg-type]
