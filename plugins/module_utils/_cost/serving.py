# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an instance has answered in a period, and what its cards have used meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._cards.accel_sysfs import accel_devices
from .._errors import GaudiError
from .._exporter import energy_log, serving_log
from .._job.binding.modules import addresses_of
from .._serving.control import CONTROL, ServingPaths, known_instances, read_control
from .._serving.instance import NAME


def served(
    name: str,
    begin: float,
    end: float,
    kernel_root: str,
    *,
    energy: str = "/var/lib/gaudi3_scale/exporter/energy",
    tokens: str = serving_log.DIRECTORY,
    control: str = CONTROL,
) -> dict[str, Any]:
    """Of this node; raises GaudiError where it has no such instance."""
    found = read_control(ServingPaths(name, control)) if NAME.fullmatch(name) else None
    if found is None:
        known = ", ".join(one.name for one in known_instances(control)) or "none"
        raise GaudiError(f"name: {name} is no instance of this node; it has {known}.")
    own = addresses_of(list(found.modules), kernel_root)
    readings = energy_log.read(Path(energy), begin, end)
    cards = {card: energy_log.used(ones, begin, end) for card, ones in readings.items() if card in own}
    counts = serving_log.read(Path(tokens), name, begin, end)
    answers = serving_log.answered(counts, begin, end)
    return {
        "model": found.served_name,
        "prompt_tokens": answers.prompt,
        "generated_tokens": answers.generated,
        "known_seconds": answers.seconds,
        "cards": len(found.modules),
        "node_cards": max(len(accel_devices(kernel_root)), len(found.modules)),
        "joules": sum(one.joules for one in cards.values()),
        "gap_seconds": sum(one.gap_seconds for one in cards.values()),
        "card_seconds": len(cards) * (end - begin),
    }
