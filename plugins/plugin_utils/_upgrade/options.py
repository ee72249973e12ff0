# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the options of an upgrade can be meant; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LAYERS = ("containers", "fabric", "training_stack", "flags")
ADAPTERS = ("none", "slurm", "commands")
BATCH = re.compile(r"[1-9][0-9]*%?")
NUMBER = re.compile(r"[0-9]+([.][0-9]+)?")


@dataclass(frozen=True)
class UpgradeOptions:
    """What the operator asks for. ``pattern`` is that of ``gaudi_hosts``, and ``hosts`` are those that it matches."""

    pattern: str
    hosts: Sequence[str]
    serial: object = (1,)
    canary: str = ""
    max_fail_percentage: object = ""
    drain: str = "none"
    layers: Sequence[str] = ()


def refusal(options: UpgradeOptions) -> str:
    """A sentence that names the first option that cannot be meant and says what to do, or nothing."""
    return next(_refusals(options), "")


def _refusals(options: UpgradeOptions) -> Iterator[str]:
    empty = [batch for batch in _batches(options.serial) if not BATCH.fullmatch(batch)]
    if empty:
        yield (
            f"gaudi_driver_upgrade_serial has {empty[0]}, but a batch needs at least 1 node or 1%; leave it "
            "out for the default 1, 10%, 25%."
        )
    if not options.hosts:
        yield f"No host matches gaudi_hosts ({options.pattern}); correct it, or the inventory."
    if options.canary and options.canary not in options.hosts:
        yield (
            f"gaudi_driver_upgrade_canary is {options.canary}, which is not a host of this run; use one of "
            f"{', '.join(options.hosts)}."
        )
    most = str(options.max_fail_percentage).strip()
    if most and not (NUMBER.fullmatch(most) and float(most) <= 100):
        yield f"gaudi_driver_upgrade_max_fail_percentage is {most}; give a number from 0 to 100."
    if options.drain not in ADAPTERS:
        yield f"gaudi_driver_upgrade_drain is {options.drain}; it must be none, slurm or commands."
    unknown = [layer for layer in options.layers if layer not in LAYERS]
    if unknown:
        yield f"gaudi_driver_upgrade_layers has {unknown[0]}; there are {', '.join(LAYERS)}."


def _batches(serial: object) -> list[str]:
    return [str(batch) for batch in serial] if isinstance(serial, (list, tuple)) else [str(serial)]


def node_refusal(node: str, hosts: Sequence[str]) -> str:
    """The same for a ``node`` that is to be explained: it has to be one of ``hosts``."""
    if node and node in hosts:
        return ""
    what = f"'{node}', which is not among gaudi_hosts" if node else "not set"
    return f"gaudi_driver_upgrade_node is {what}; name one of {', '.join(hosts)}."
