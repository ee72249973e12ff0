# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the options of writing firmware can be meant; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ADAPTERS = ("none", "slurm", "commands")


@dataclass(frozen=True)
class FirmwareOptions:
    """What the operator asks for; ``hosts`` are those of the run."""

    hosts: Sequence[str]
    accept: object
    canary: str = ""
    drain: str = "none"


def refusal(options: FirmwareOptions) -> str:
    """A sentence that names the first option that cannot be meant and says what to do, or nothing."""
    return next(_refusals(options), "")


def _refusals(options: FirmwareOptions) -> Iterator[str]:
    if not isinstance(options.accept, Mapping):
        yield (
            f"gaudi_firmware_accept is {options.accept}; give a version in full for each generation, as "
            "{gaudi3: 1.22.0-fw-61.3.2-sec-3}."
        )
    if options.canary and options.canary not in options.hosts:
        yield (
            f"gaudi_firmware_canary is {options.canary}, which is not a host of this run; use one of "
            f"{', '.join(options.hosts)}."
        )
    if options.drain not in ADAPTERS:
        yield f"gaudi_firmware_drain is {options.drain}; it must be none, slurm or commands."
