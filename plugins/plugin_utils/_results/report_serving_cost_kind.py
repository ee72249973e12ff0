# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the answers of an instance cost, by the node hours and the energy of its cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.bill import MOST_GAP, Bill, Measured, bill_of
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import Prices, prices_from
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    number,
    record,
    taken,
    whole,
    word,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Kind as Report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.cost_rows import (
    COLUMNS,
    ENTERED,
    MEASURED,
    duration,
    money,
    row,
)

USED = "__gaudi_cost_serving"
MODULE = "gaudi3.scale.serving_usage"
_NUMBERS = ("prompt_tokens", "generated_tokens", "known_seconds", "joules", "gap_seconds", "card_seconds")
ANSWER: Kind = record({"model": word, "cards": whole(1), "node_cards": whole(1), **dict.fromkeys(_NUMBERS, number)})


def report_serving_cost_kind(asked: Asked) -> Made:
    """``given`` are the options of the role; raises GaudiError where a figure would be a guess."""
    given = asked.given
    name, seconds = given["serving"], float(given["hours"]) * 3600
    prices = prices_from(given)
    used = {
        host: taken(host, MODULE, ANSWER, one) for host, one in asked.results(USED).items() if "generated_tokens" in one
    }
    if not used:
        raise GaudiError(
            f"gaudi_cost_serving {name}: no host of the play has such an instance; give its name, and its hosts as "
            "gaudi_hosts."
        )
    known = sum(one["known_seconds"] for one in used.values()) / (len(used) * seconds)
    if known < 1 - MOST_GAP:
        raise GaudiError(
            f"gaudi_cost_serving {name}: its tokens are known for {known:.0%} of the last {given['hours']:g} h, and "
            f"less than {1 - MOST_GAP:.0%} is too little; give fewer gaudi_cost_hours, or run monitoring.yml before."
        )
    measured = _measured(used, seconds, bool(given.get("energy", True)))
    if not measured.tokens:
        raise GaudiError(f"gaudi_cost_serving {name}: it has generated no token in the last {given['hours']:g} h.")
    bill = bill_of(measured, prices)
    prompt = sum(one["prompt_tokens"] for one in used.values())
    return Made(
        {
            "title": f"Cost of the answers of {name}",
            "columns": COLUMNS,
            "rows": [*_money_rows(bill, prices), *_work_rows(measured, prompt, used), *_energy_rows(measured, bill)],
            "notes": list(_notes(measured, prices)),
            "data": {
                "generated_tokens": measured.tokens,
                "prompt_tokens": prompt,
                "seconds": seconds,
                "nodes": list(used),
                "kwh": bill.kwh,
                "energy_gap": measured.gap,
                "currency": prices.currency,
                "total": bill.total,
                "a_million_tokens": bill.million_tokens,
                "joules_a_token": bill.joules_a_token,
            },
        },
        {
            "nodes": {host: "ok" if host in used else "no such instance" for host in asked.hosts},
            "good": ["ok", "no such instance"],
            "numbers": {"total": bill.total, "a_million_tokens": bill.million_tokens, "kwh": bill.kwh},
            "words": {"currency": prices.currency, "name": name},
        },
    )


def _measured(used: Mapping[str, Mapping[str, Any]], seconds: float, is_energy_wanted: bool) -> Measured:
    """Of nodes whose other cards others have, the part of the instance is paid for."""
    watched = [one for one in used.values() if one["card_seconds"] > one["gap_seconds"]]
    part = sum(one["cards"] / max(one["cards"], one["node_cards"]) for one in used.values()) / len(used)
    whole_time = sum(one["cards"] * seconds for one in used.values())
    known = sum(one["card_seconds"] - one["gap_seconds"] for one in watched)
    joules = sum(one["joules"] for one in watched) if watched and is_energy_wanted else None
    tokens = sum(one["generated_tokens"] for one in used.values())
    return Measured(seconds, len(used), tokens, joules, max(0.0, whole_time - known), whole_time, part=part)


def _money_rows(bill: Bill, prices: Prices) -> Iterator[dict[str, Any]]:
    price = "price, years and utilization" if prices.capital else "price"
    yield row("per million tokens answered", money(bill.million_tokens or 0.0, prices), "total cost ÷ generated tokens")
    yield row("all of it", money(bill.total, prices), "its nodes" if bill.energy is None else "its nodes and energy")
    yield row("its nodes", money(bill.nodes, prices), "node hours × price")
    if bill.energy is not None:
        yield row("its energy", money(bill.energy, prices), f"kWh × price{' × PUE' if prices.pue else ''}")
    yield row("per node hour", money(prices.a_node_hour(), prices), f"{ENTERED}: {price}")


def _work_rows(measured: Measured, prompt: float, used: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    models = ", ".join(dict.fromkeys(str(one["model"]) for one in used.values()))
    yield row("model", models, "as it is served")
    yield row("time", duration(measured.seconds), ENTERED)
    yield row("instances", measured.nodes, MEASURED)
    if measured.part < 1:
        paid = f"{measured.whole_nodes:.3g} nodes: its cards are {measured.part:.0%} of each"
        yield row("part of the nodes", paid, f"{MEASURED}; the other cards are not paid for here")
    yield row("generated tokens", f"{measured.tokens:,.0f}", f"{MEASURED}: the engine's own counter")
    yield row("tokens of prompts", f"{prompt:,.0f}", MEASURED)
    yield row("generated tokens/s", quantity((measured.tokens or 0.0) / measured.seconds), "over the whole time")


def _energy_rows(measured: Measured, bill: Bill) -> Iterator[dict[str, Any]]:
    if bill.kwh is None:
        yield row("energy", "not measured", "left out, or no node has recorded it: docs/monitoring.md")
        return
    yield row("energy", f"{quantity(bill.kwh)} kWh", f"{MEASURED}: the 54 V rail of its cards, also while it is idle")
    yield row("its gaps", f"{measured.gap:.1%}", f"{MEASURED}; more than {MOST_GAP:.0%} is refused")
    yield row("joules per token answered", rounded(bill.joules_a_token or 0.0), "energy ÷ generated tokens")


def _notes(measured: Measured, prices: Prices) -> Iterator[str]:
    yield "all of the time is paid for, also that in which nobody asked; tokens of prompts are in no denominator"
    if measured.joules is not None and prices.kwh is None:
        yield "energy is not priced (gaudi_cost_kwh); for rented nodes it is part of the node's price"
    if measured.joules is not None and prices.overhead_watts is None:
        yield "processors, fans and network cards of the servers are not included; gaudi_cost_overhead_watts adds them"


KIND = Report((USED,), report_serving_cost_kind)
