# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the options of writing firmware can be meant; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.options import canary_refusals, drain_refusals

# As `options_check` takes them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "accept": {"type": "raw", "required": True},
    "canary": {"type": "str", "default": ""},
    "drain": {"type": "str", "default": "none"},
}


@dataclass(frozen=True)
class FirmwareOptions:
    """What the operator asks for; ``hosts`` are those of the run."""

    hosts: Sequence[str]
    accept: object
    canary: str = ""
    drain: str = "none"


def check(given: Mapping[str, Any]) -> None:
    """Raises GaudiError for options that cannot be meant."""
    said = refusal(FirmwareOptions(**given))
    if said:
        raise GaudiError(said)


def refusal(options: FirmwareOptions) -> str:
    """A sentence that names the first option that cannot be meant and says what to do, or nothing."""
    return next(_refusals(options), "")


def _refusals(options: FirmwareOptions) -> Iterator[str]:
    if not isinstance(options.accept, Mapping):
        yield (
            f"gaudi_firmware_accept is {options.accept}; give a version in full for each generation, as "
            "{gaudi3: 1.22.0-fw-61.3.2-sec-3}."
        )
    yield from canary_refusals("gaudi_firmware_canary", options.canary, options.hosts)
    yield from drain_refusals("gaudi_firmware_drain", options.drain)
