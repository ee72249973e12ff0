# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What one node's collector told last, as it may be used, and what of it is not well; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import LARGEST_NUMBER
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    RefusedError,
    by_name,
    number,
    one_of,
    record,
    said,
    several,
    taken,
    word,
)

# Of its interval: a collector that is so late hangs, or is gone.
_LATE = 4.0
# Of 16 cards with all their ports, 32 jobs and 20 probes: some 1,500.
_MOST_SAMPLES, _MOST_LABELS = 8000, 20
_NO_NUMBER = one_of("nan", "inf", "-inf")


def _value(value: Any, field: str) -> float | None:
    """None for what goes by its name: of what is no number nothing is known."""
    if isinstance(value, str):
        _NO_NUMBER(value, field)
        return None
    finite = float(number(value, field))
    # Sums of all nodes are to be numbers as well.
    if abs(finite) > LARGEST_NUMBER:
        raise RefusedError(field, f"a number up to {LARGEST_NUMBER:g}", value)
    return finite


_SAMPLE = record({"name": word, "labels": by_name(said, _MOST_LABELS), "value": _value})
_ANSWER = record({"samples": several(_SAMPLE, _MOST_SAMPLES), "time": number})


@dataclass(frozen=True)
class NodeTold:
    """``samples`` as ``node_told`` takes them, and the ``time`` at which they were read."""

    host: str
    samples: Sequence[Mapping[str, Any]] = ()
    time: float = 0.0

    def of(self, metric: str, **labels: str) -> list[tuple[Mapping[str, str], float]]:
        """Labels and value of each sample that has these labels, and a number."""
        return [
            (one["labels"], one["value"])
            for one in self.samples
            if one["name"] == metric
            and one["value"] is not None
            and all(one["labels"].get(name) == value for name, value in labels.items())
        ]

    def first(self, metric: str, **labels: str) -> float | None:
        return next((value for _labels, value in self.of(metric, **labels)), None)

    def values(self, metric: str) -> list[float]:
        return [value for _labels, value in self.of(metric)]


def node_told(host: str, answer: object) -> NodeTold:
    """What a node answered ``node_metrics_info``; raises GaudiError for what that module never says."""
    found = taken(host, "node_metrics_info", _ANSWER, answer)
    return NodeTold(host, found["samples"], float(found["time"]))


def troubles(node: NodeTold) -> list[str]:
    """What is wrong now, and what to run; alerts of a Prometheus know more, since they know what was before."""
    if not node.samples:
        return []
    found = [*_missing(node), *_cards(node), *_ports(node), *_collectors(node)]
    if node.first("gaudi_node_quarantined"):
        found.append("is in quarantine: release it with gaudi3.scale.return_node after gaudi3.scale.qualify_nodes")
    return found


def _missing(node: NodeTold) -> Iterator[str]:
    # A card may be on the bus, and no driver has it.
    expected, driven = node.first("gaudi_cards_expected") or 0, node.first("gaudi_cards_driven") or 0
    if driven < expected:
        yield f"{driven:.0f} of {expected:.0f} cards work with the driver: gaudi3.scale.verify reports the card"


def _cards(node: NodeTold) -> Iterator[str]:
    for labels, works in node.of("gaudi_card_operational"):
        if not works:
            yield f"card {labels.get('card')} does not work: gaudi3.scale.quarantine_node"
    limits = {labels.get("card"): value for labels, value in node.of("gaudi_card_temperature_limit_celsius")}
    for labels, celsius in node.of("gaudi_card_temperature_celsius"):
        card, limit = labels.get("card"), limits.get(labels.get("card"))
        if celsius == 0:
            yield f"card {card} did not start (0 °C): gaudi3.scale.quarantine_node"
        elif limit is not None and celsius >= limit:
            yield f"card {card} has {celsius:.0f} °C of {limit:.0f}: check its air flow"
    for labels, errors in node.of("gaudi_card_ecc_uncorrected_total"):
        if errors:
            what = f"{errors:.0f} uncorrected errors of its memory"
            yield f"card {labels.get('card')} has {what}: gaudi3.scale.quarantine_node"


def _ports(node: NodeTold) -> Iterator[str]:
    """Without any link there is no switch at these ports, and nothing is wrong with one of them."""
    ports = node.values("gaudi_port_up")
    down = sum(1 - up for up in ports)
    if 0 < down < len(ports):
        yield f"{down:.0f} external ports have no link: gaudi3.scale.plan_fabric reports cable and switch"


def _collectors(node: NodeTold) -> Iterator[str]:
    for about, what in (("cards", "hl-smi hangs, or its collector is gone"), ("node", "the collector is gone")):
        told = node.first("gaudi_collector_last_success_timestamp_seconds", about=about)
        interval = node.first("gaudi_collector_interval_seconds", about=about)
        if told and interval and node.time - told > _LATE * interval:
            yield f"no new data of its {about} since {(node.time - told) / 60:.0f} min: {what}"
