# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a job cost as a report that its reader can hand on: each figure with where it comes from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.bill import MOST_GAP, Bill, Measured, bill_of
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.course import Course, course_of, runs_since
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.launch import Launch, launch_of, part_of_node
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.platforms import (
    Before,
    Platform,
    Share,
    before_from,
    platforms_from,
    share_of,
    unlike,
    without_energy,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import Prices, prices_from
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import merge
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import mapping_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.cost_rows import (
    COLUMNS,
    ENTERED,
    MEASURED,
    duration,
    money,
    row,
    with_share,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import clock

INFO, HISTORY, ENERGY = "__gaudi_cost_job", "__gaudi_cost_course", "__gaudi_cost_energy"
PARTS = ("nodes", "energy")
# Nodes begin and end a launch within this of each other; where it is more, one of them was not in all of it.
TOGETHER_S = 60.0


def report_cost_kind(asked: Asked) -> Made:
    """``given`` are the options of the role; raises GaudiError where a figure would be a guess."""
    given = asked.given
    prices = prices_from(given)
    platforms = platforms_from(given.get("platforms") or (), prices.currency)
    launch = _launch(asked)
    earlier, runs = runs_since(_runs(asked), launch.begin)
    course = _course(asked, runs, launch)
    # A node that does not answer today has cost what the others did.
    measured = _measured(asked, launch, course, max(len(launch.hosts), _launched_on(runs)))
    bill = bill_of(measured, prices)
    own = Platform(given["job"], MEASURED, measured.nodes, course.tokens_per_second or 0.0, prices)
    # The same number of tokens everywhere; without tokens there is nothing to compare by.
    others = [share_of(one, measured.tokens) for one in platforms] if measured.tokens else []
    share, *shares = _comparable(given, [Share(own, course.seconds / 3600, bill.nodes, bill.energy), *others])
    before = before_from(given.get("before") or {})
    rows = [
        *_money_rows(bill, prices),
        *_saved_rows(before, course, bill, prices),
        *_time_rows(course, measured),
        *_energy_rows(given, measured, bill, prices),
    ]
    return Made(
        {
            "title": f"Cost of job {given['job']}",
            "columns": COLUMNS,
            "rows": rows,
            "notes": [
                *_earlier_notes(course, course_of(earlier, None, None)),
                *_notes(measured, prices, bool(platforms) and not shares),
            ],
            "sections": _sections(given["job"], shares, prices),
            "bars": _bars([share, *shares], prices),
            "data": {
                "tokens": measured.tokens,
                "seconds": measured.seconds,
                "nodes": list(launch.hosts),
                "kwh": bill.kwh,
                "energy_gap": measured.gap,
                "currency": prices.currency,
                "total": bill.total,
                "a_million_tokens": bill.million_tokens,
                "joules_a_token": bill.joules_a_token,
            },
        },
        {
            "nodes": {host: "ok" if host in launch.hosts else "not in the job" for host in asked.hosts},
            "good": ["ok", "not in the job"],
            "numbers": {"total": bill.total, "a_million_tokens": bill.million_tokens, "kwh": bill.kwh},
            "words": {"currency": prices.currency, "name": given["job"]},
        },
    )


def _launch(asked: Asked) -> Launch:
    found = launch_of(asked.results(INFO), float(asked.given.get("now") or time.time()))
    if not found.hosts:
        raise GaudiError(
            f"gaudi_cost_job {asked.given['job']}: no host of the play has such a job; give its name, and its hosts "
            "as gaudi_hosts."
        )
    return found


def _runs(asked: Asked) -> list[dict[str, Any]]:
    histories = [{**one, "events": one.get("events", [])} for one in asked.results(HISTORY).values() if one.get("runs")]
    return merge(histories)["runs"] if histories else []


def _launched_on(runs: Sequence[Mapping[str, Any]]) -> int:
    """How many nodes the job says that it had; 0 where its script does not say it."""
    said = [mapping_of(run.get("start")).get("nodes") for run in runs]
    return max((count for count in said if isinstance(count, int)), default=0)


def _course(asked: Asked, runs: Sequence[Mapping[str, Any]], launch: Launch) -> Course:
    course = course_of(runs, launch.begin, launch.end)
    if course is None:
        raise GaudiError(
            f"gaudi_cost_job {asked.given['job']}: it has reported fewer than two steps since its last launch, so its "
            "cost cannot be related to its work; wait until it has, or see docs/follow.md for what a script "
            "must write."
        )
    return course


def _measured(asked: Asked, launch: Launch, course: Course, nodes: int) -> Measured:
    """Energy is None where no node has any, or the operator leaves it out."""
    energies = asked.results(ENERGY)
    found = [energies[host] for host in launch.hosts if _was_watched(energies.get(host, {}))]
    is_wanted = bool(found) and _is_energy_wanted(asked.given)
    known = sum(float(one["card_seconds"]) - float(one["gap_seconds"]) for one in found)
    # A node whose readings are all missing is a gap of the size of the others.
    whole = sum(_card_seconds(one, course) for one in found) / len(found) * nodes if found else 0.0
    return Measured(
        course.seconds,
        nodes,
        course.tokens,
        sum(float(one["joules"]) for one in found) if is_wanted else None,
        whole - known,
        whole,
        course.lost_seconds,
        course.between_seconds,
        part_of_node(asked.results(INFO), launch.hosts),
    )


def _was_watched(energy: Mapping[str, Any]) -> bool:
    """Whether there is a reading of the job's time, and not of other times alone."""
    return float(energy.get("card_seconds", 0)) > float(energy.get("gap_seconds", 0))


def _card_seconds(energy: Mapping[str, Any], course: Course) -> float:
    """Of a node's cards in the time that is billed, also where the node was in a part of it only."""
    return max(float(energy["card_seconds"]), len(energy["cards"]) * (course.seconds - TOGETHER_S))


def _is_energy_wanted(given: Mapping[str, Any]) -> bool:
    return bool(given.get("energy", True))


def _comparable(given: Mapping[str, Any], shares: Sequence[Share]) -> list[Share]:
    """The job's own first, and the platforms, with the power of all or of none in their totals."""
    if not _is_energy_wanted(given):
        return [without_energy(share) for share in shares]
    lacking = unlike(shares)
    if lacking:
        remedy = "run monitoring.yml before the job" if lacking == given["job"] else "give its watts"
        raise GaudiError(
            f"gaudi_cost_platforms has totals that cannot be compared: the power of {lacking} has a price (kwh) "
            "and was not "
            f"measured, and in others it is; {remedy}, or leave energy out of all with gaudi_cost_energy=false."
        )
    return list(shares)


def _time_rows(course: Course, measured: Measured) -> Iterator[dict[str, Any]]:
    yield row("time", duration(course.seconds), MEASURED)
    yield row("nodes", measured.nodes, MEASURED)
    if measured.part < 1:
        paid = f"{measured.whole_nodes:.3g} of them: the job's cards are {measured.part:.0%} of each"
        yield row("part of the nodes", paid, f"{MEASURED}; the other cards are not paid for here")
    yield row("counted steps", f"{course.steps:,}", MEASURED)
    if course.tokens is not None:
        yield row("tokens", f"{course.tokens:,.0f}", f"{MEASURED}: tokens per step × counted steps")
        yield row("tokens/s over the whole run", quantity(course.tokens_per_second or 0.0), MEASURED)
    yield row("in steps", with_share(course.stepping_seconds, course.seconds), MEASURED)
    yield row(
        "in repeated steps", with_share(course.lost_seconds, course.seconds), f"{MEASURED}; restarts: {course.restarts}"
    )
    yield row("between two runs", with_share(course.between_seconds, course.seconds), MEASURED)


def _energy_rows(given: Mapping[str, Any], measured: Measured, bill: Bill, prices: Prices) -> Iterator[dict[str, Any]]:
    if not _is_energy_wanted(given):
        yield row("energy", "left out", f"{ENTERED}: gaudi_cost_energy is false")
        return
    if bill.kwh is None:
        yield row("energy", "not measured", "no node has recorded it: docs/monitoring.md")
        return
    what = "the cards' 54 V rail" + (" and the servers" if prices.overhead_watts else "")
    yield row("energy", f"{bill.kwh:,.1f} kWh", f"{MEASURED}: {what}")
    yield row("its gaps", f"{measured.gap:.1%}", f"{MEASURED}; more than {MOST_GAP:.0%} is refused")
    if bill.joules_a_token is not None:
        yield row("joules per token", rounded(bill.joules_a_token), "energy ÷ tokens")


def _money_rows(bill: Bill, prices: Prices) -> Iterator[dict[str, Any]]:
    price = "price, years and utilization" if prices.capital else "price"
    parts = "its nodes" if bill.energy is None else "its nodes and energy"
    yield row("all of it", money(bill.total, prices), parts)
    yield row("its nodes", money(bill.nodes, prices), "node hours × price")
    if bill.energy is not None:
        yield row("its energy", money(bill.energy, prices), f"kWh × price{' × PUE' if prices.pue else ''}")
    yield row("of which for restarts and repeated steps", money(bill.restarts, prices), "by their share of the time")
    if bill.million_tokens is not None:
        yield row("per million tokens", money(bill.million_tokens, prices), "total cost ÷ tokens")
    yield row("per node hour", money(prices.a_node_hour(), prices), f"{ENTERED}: {price}")


def _saved_rows(before: Before | None, course: Course, bill: Bill, prices: Prices) -> Iterator[dict[str, Any]]:
    """What the same tokens would have cost at a rate of before."""
    now = course.tokens_per_second
    if before and now:
        saved = bill.total * (now / before.tokens_per_second - 1)
        yield row(
            "saved by being faster" if saved >= 0 else "lost by being slower",
            money(abs(saved), prices),
            f"against {quantity(before.tokens_per_second)} tokens/s: {before.source}",
        )


def _sections(job: str, shares: Sequence[Share], prices: Prices) -> list[dict[str, Any]]:
    if not shares:
        return []
    columns = ("platform", "hours", "nodes", "energy", "all of it", "per million tokens", "source")
    rows = [
        {
            "platform": share.platform.name,
            "hours": f"{share.hours:,.1f}",
            "nodes": money(share.nodes, prices),
            "energy": share.no_energy if share.energy is None else money(share.energy, prices),
            "all of it": money(share.total, prices),
            "per million tokens": money(share.total * 1e6 / _tokens(share), prices),
            "source": share.platform.source,
        }
        for share in shares
    ]
    notes = ["figures of other platforms are as entered, not measured here"]
    if any(share.energy is None and share.has_paid_power for share in shares):
        notes.append("in nodes: no price of a kWh was entered, so power is in the price of a node")
    return [{"title": f"The tokens of {job} elsewhere", "columns": columns, "rows": rows, "notes": notes}]


def _tokens(share: Share) -> float:
    return share.hours * 3600 * share.platform.tokens_per_second


def _bars(shares: Sequence[Share], prices: Prices) -> list[dict[str, Any]]:
    amounts = [
        {"label": one.platform.name, "parts": [one.nodes, one.energy or 0.0], "text": money(one.total, prices)}
        for one in shares
    ]
    return [{"title": "What it cost", "x_label": prices.currency, "parts": list(PARTS), "amounts": amounts}]


def _earlier_notes(course: Course, earlier: Course | None) -> Iterator[str]:
    """What a reader would miss who asks for the whole training."""
    if earlier:
        yield (
            f"all figures are of the launch at {clock(course.begin)}; {earlier.steps:,} steps of launches before it, "
            "and their cost, are not included"
        )


def _notes(measured: Measured, prices: Prices, is_incomparable: bool) -> Iterator[str]:
    yield "measured: from the job's own lines, and from power that was sampled on its nodes; entered: as given"
    if measured.joules is not None and prices.overhead_watts is None:
        yield "processors, fans and network cards of the servers are not included; gaudi_cost_overhead_watts adds them"
    if measured.joules is not None and prices.kwh is None:
        yield "energy is not priced (gaudi_cost_kwh); for rented nodes it is part of the node's price"
    if prices.kwh is not None and prices.pue is None:
        yield "cooling is not included; gaudi_cost_pue adds it"
    if is_incomparable:
        yield "the job reported no tokens, so it cannot be compared with other platforms"


KIND = Kind((INFO, HISTORY, ENERGY), report_cost_kind)
