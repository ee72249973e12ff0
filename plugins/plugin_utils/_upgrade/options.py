# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the options of an upgrade can be meant; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._rollout.options import canary_refusals, drain_refusals

LAYERS = ("containers", "fabric", "venv", "flags")
BATCH = re.compile(r"[1-9][0-9]*%?")
NUMBER = re.compile(r"[0-9]+([.][0-9]+)?")
# As `options_check` takes them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "pattern": {"type": "raw", "default": "gaudi"},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "serial": {"type": "raw", "default": [1, "10%", "25%"]},
    "canary": {"type": "str", "default": ""},
    "max_fail_percentage": {"type": "raw", "default": ""},
    "drain": {"type": "str", "default": "none"},
    "layers": {"type": "list", "elements": "str", "default": []},
    "node": {"type": "str"},
}


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


def check(given: Mapping[str, Any]) -> None:
    """Raises GaudiError for options that cannot be meant, or a ``node`` to be explained that is not among the hosts."""
    options = {name: value for name, value in given.items() if name != "node"}
    said = refusal(UpgradeOptions(**{**options, "pattern": str(options["pattern"])}))
    if not said and given["node"] is not None:
        said = node_refusal(given["node"], given["hosts"])
    if said:
        raise GaudiError(said)


def refusal(options: UpgradeOptions) -> str:
    """A sentence that names the first option that cannot be meant and says what to do, or nothing."""
    return next(_refusals(options), "")


def _refusals(options: UpgradeOptions) -> Iterator[str]:
    empty = [batch for batch in _batches(options.serial) if not BATCH.fullmatch(batch)]
    if empty:
        yield (
            f"gaudi_upgrade_serial has {empty[0]}, but a batch needs at least 1 node or 1%; leave it "
            "out for the default 1, 10%, 25%."
        )
    if not options.hosts:
        yield f"No host matches gaudi_hosts ({options.pattern}); correct it, or the inventory."
    yield from canary_refusals("gaudi_upgrade_canary", options.canary, options.hosts)
    most = str(options.max_fail_percentage).strip()
    if most and not (NUMBER.fullmatch(most) and float(most) <= 100):
        yield f"gaudi_upgrade_max_fail_percentage is {most}; give a number from 0 to 100."
    yield from drain_refusals("gaudi_upgrade_drain", options.drain)
    unknown = [layer for layer in options.layers if layer not in LAYERS]
    if unknown:
        yield f"gaudi_upgrade_layers has {unknown[0]}; there are {', '.join(LAYERS)}."


def _batches(serial: object) -> list[str]:
    return [str(batch) for batch in serial] if isinstance(serial, (list, tuple)) else [str(serial)]


def node_refusal(node: str, hosts: Sequence[str]) -> str:
    """The same for a ``node`` that is to be explained: it has to be one of ``hosts``."""
    if node and node in hosts:
        return ""
    what = f"'{node}', which is not among gaudi_hosts" if node else "not set"
    return f"gaudi_upgrade_node is {what}; name one of {', '.join(hosts)}."
