# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The labels of a classification: their numbers for the model, the same on each rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from gaudi3_scale.core._errors import GaudiError


@dataclass(frozen=True)
class Labels:
    """No number at all for a regression: the label is the value."""

    numbers: Mapping[str, int]

    def of(self, label: Any) -> int | float:
        """GaudiError for a label of the validation that the training has not."""
        if not self.numbers:
            return float(label)
        if str(label) not in self.numbers:
            raise GaudiError(
                f"The data has the label {label!r}, which is not one of {', '.join(self.numbers)}; "
                "train with rows that have it, or remove its rows."
            )
        return self.numbers[str(label)]

    def told_to(self, config: Any) -> None:
        """Sets the head's size and the labels' names."""
        if not self.numbers:
            config.num_labels, config.problem_type = 1, "regression"
            return
        config.num_labels = len(self.numbers)
        config.label2id = dict(self.numbers)
        config.id2label = {number: name for name, number in self.numbers.items()}


def labels_in(values: Iterable[Any], config: Any) -> Labels:
    """Those that the model has already, where all of the data are among them; else the data's, in order."""
    found = set(values)
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found)
    if numbers and any(isinstance(value, float) for value in found):
        return Labels({})
    known: Mapping[str, int] = getattr(config, "label2id", None) or {}
    if {str(value) for value in found} <= set(known):
        return Labels(known)
    if numbers:
        return Labels({str(number): number for number in range(max(found) + 1)})
    return Labels({name: number for number, name in enumerate(sorted({str(value) for value in found}))})
