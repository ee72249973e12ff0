# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a measurement means for a node. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import EFA, ETHERNET
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.pairs import Looks, why_not
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.rounds import Measured

OK, SLOWER, NOT_OK, NOT_MEASURED = "ok", "slower", "not ok", "not measured"


@dataclass(frozen=True)
class NodeVerdict:
    """``state`` as above, ``reason`` a sentence or nothing. ``chosen`` is the node's network, ``fastest`` the one that
    carried most at the largest size, with the flags of its profile; ``rows`` as :class:`rounds.Measured` has them."""

    state: str
    chosen: str = ""
    reason: str = ""
    partner: str = ""
    fastest: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    time: str = ""
    cached: bool = False


def verdict_of(measured: Measured, node: str, looks: Looks, margin: float) -> NodeVerdict:
    """``margin``: the part by which another network has to be faster, 0.05 for a twentieth."""
    chosen = str(looks[node]["provider"])
    first, last = measured.pair.nodes
    about: dict[str, Any] = {
        "chosen": chosen,
        "partner": last if node == first else first,
        "rows": measured.rows,
        "time": measured.time,
        "cached": measured.cached,
    }
    own = next((row for row in measured.rows if row["provider"] == chosen), None)
    ranked = sorted((row for row in measured.rows if row["sizes"]), key=_bandwidth, reverse=True)
    fastest = ranked[0] if ranked else None
    if fastest:
        about |= {"fastest": fastest["provider"], "flags": fastest["flags"]}
    if own is None:
        return NodeVerdict(NOT_MEASURED, reason=why_not(measured.pair, looks), **about)
    if own.get("absent"):
        # Nothing is known of the network: a job may have the cards. verify.yml is who looks at the node.
        return NodeVerdict(NOT_MEASURED, reason=f"ranks did not start on {own['why']}", **about)
    if own.get("late"):
        return NodeVerdict(NOT_MEASURED, reason=f"the all-reduce over {chosen}: {own['why']}", **about)
    if not own["sizes"]:
        return NodeVerdict(NOT_OK, reason=f"the all-reduce over {chosen} failed: {own['why']}", **about)
    if fastest and fastest is not own and _bandwidth(fastest) > _bandwidth(own) * (1 + margin):
        return NodeVerdict(SLOWER, reason=_advice(own, fastest), **about)
    plain = next((row for row in ranked if row["provider"] == ETHERNET), None)
    if chosen == EFA and plain and _bandwidth(own) <= _bandwidth(plain) * (1 + margin):
        return NodeVerdict(SLOWER, reason=_gains_nothing(own, plain), **about)
    return NodeVerdict(OK, **{**about, "fastest": chosen, "flags": own["flags"]})


def _bandwidth(row: Mapping[str, Any]) -> float:
    return float(row["sizes"][-1]["busbw_gb_per_s"])


def _gains_nothing(own: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    """HCCL does not say which provider of libfabric it took: what it carried is the only sign that it was EFA."""
    return (
        f"efa, which is chosen, carried {rounded(_bandwidth(own))} GB/s, and plain TCP on the same nodes "
        f"{rounded(_bandwidth(plain))}: HCCL gains nothing of EFA and most likely does not use it (its open sources "
        "skip it from 1.18 on); see the warnings of fabric.yml, or set gaudi_fabric_provider: ethernet."
    )


def _advice(own: Mapping[str, Any], fastest: Mapping[str, Any]) -> str:
    flags = ", ".join(f"{name}: {value}" for name, value in fastest["flags"].items())
    also = f", and gaudi_flags_overrides: {{{flags}}}" if flags else ""
    return (
        f"{fastest['provider']} carried {rounded(_bandwidth(fastest))} GB/s where {own['provider']}, which is chosen, "
        f"carried {rounded(_bandwidth(own))}; find out why, or set gaudi_fabric_provider: {fastest['provider']}{also}."
    )
