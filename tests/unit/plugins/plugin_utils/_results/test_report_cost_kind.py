# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a job cost: measured, entered and derived figures told apart, and no guess among them."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.pdf import pdf_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_cost_kind import (
    ENERGY,
    HISTORY,
    INFO,
    report_cost_kind,
)

BEGIN, HOURS = 1795608000.0, 10
CARDS = {f"0000:{number:02x}:00.0": {} for number in range(8)}
A_NODE_HOUR = 160000 / (4 * 8766 * 0.8)
GIVEN = {
    "job": "llama",
    "currency": "EUR",
    "capital": {"price": 160000, "years": 4, "utilization": 0.8},
    "kwh": 0.21,
    "pue": 1.3,
    "now": BEGIN + HOURS * 3600,
}
RATE = 5e4


def run(first, last, begin, lost=0):
    """A step a minute, of which the points of each tenth are told."""
    points = [
        {"step": step, "time": begin + 60.0 * (step - first), "tokens_per_second": RATE, "seconds": {"step": 60.0}}
        for step in range(first, last - lost + 1, 10)
    ]
    last_line = {"kind": "step", "step": last, "time": begin + 60.0 * (last - first)}
    return {
        "start": {"time": begin - 60, "step": first},
        "points": points,
        "means": [],
        "last": last_line,
        "lost": lost,
    }


def node(joules=8 * 500 * HOURS * 3600.0, gap=0.0, runs=()):
    seconds = 8 * HOURS * 3600.0
    return {
        INFO: {"state": "succeeded", "started": BEGIN, "ended": BEGIN + HOURS * 3600},
        HISTORY: {"runs": list(runs), "events": []},
        ENERGY: {"cards": CARDS, "joules": joules, "gap_seconds": gap, "card_seconds": seconds},
    }


RUNS = (run(0, 300, BEGIN + 60, lost=20), run(280, 560, BEGIN + 19000))
HOSTS = {
    "gaudi-01": node(runs=RUNS),
    "gaudi-02": node(),
    "gaudi-03": {INFO: {"state": "absent", "started": None, "ended": None}, HISTORY: {"runs": [], "events": []}},
}


def made(hosts=None, **given):
    return report_cost_kind(Asked(HOSTS if hosts is None else hosts, {**GIVEN, **given}, False))


def values(report):
    return {row["figure"]: row["value"] for row in report.options["rows"]}


def test_hours_and_energy_become_money_and_each_figure_has_its_origin():
    report = made()
    assert report.options["data"] == {
        "tokens": pytest.approx(560 * 60 * RATE),
        "seconds": HOURS * 3600,
        "nodes": ["gaudi-01", "gaudi-02"],
        "kwh": pytest.approx(80),
        "energy_gap": 0.0,
        "currency": "EUR",
        "total": pytest.approx(2 * HOURS * 160000 / (4 * 8766 * 0.8) + 80 * 0.21 * 1.3),
        "a_million_tokens": pytest.approx(report.options["data"]["total"] / (560 * 60 * RATE) * 1e6),
        "joules_a_token": pytest.approx(80 * 3.6e6 / (560 * 60 * RATE)),
    }
    assert {row["where it comes from"].partition(":")[0] for row in report.options["rows"]} >= {"measured", "entered"}
    assert all(row["where it comes from"] for row in report.options["rows"])
    assert values(report)["in repeated steps"] == "0 h 20 min (3.3%)"
    assert report.outcome["nodes"] == {"gaudi-01": "ok", "gaudi-02": "ok", "gaudi-03": "not in the job"}


def test_a_node_without_readings_is_a_gap_and_no_zero():
    blind = {
        **HOSTS,
        "gaudi-02": {
            **HOSTS["gaudi-02"],
            ENERGY: {"cards": {}, "joules": 0.0, "gap_seconds": 0.0, "card_seconds": 0.0},
        },
    }
    with pytest.raises(GaudiError, match="the power of 50% of the run is not known"):
        made(blind)
    assert made(blind, energy=False).options["data"]["kwh"] is None


def test_nodes_that_were_watched_at_other_times_alone_have_no_energy_either():
    unwatched = {
        host: {
            **one,
            **(
                {ENERGY: {**one[ENERGY], "joules": 0.0, "gap_seconds": one[ENERGY]["card_seconds"]}}
                if ENERGY in one
                else {}
            ),
        }
        for host, one in HOSTS.items()
    }
    assert made(unwatched).options["data"]["kwh"] is None


def test_a_node_that_does_not_answer_today_has_cost_what_the_others_did():
    lost = {**HOSTS, "gaudi-02": {INFO: {"unreachable": True}, HISTORY: {"unreachable": True}}}
    lost["gaudi-01"] = node(runs=[{**one, "start": {**one["start"], "nodes": 2}} for one in RUNS])
    report = made(lost, energy=False)
    assert report.options["data"]["total"] == pytest.approx(2 * HOURS * 160000 / (4 * 8766 * 0.8))
    with pytest.raises(GaudiError, match="the power of 50% of the run is not known"):
        made(lost)


def energy_row(report):
    (row,) = [row for row in report.options["rows"] if row["figure"] == "energy"]
    return row["value"], row["where it comes from"]


def test_energy_that_was_left_out_is_told_apart_from_energy_that_nobody_measured():
    assert energy_row(made(energy=False)) == ("left out", "entered: gaudi_cost_energy is false")
    unwatched = {
        **HOSTS,
        "gaudi-01": without(HOSTS["gaudi-01"], ENERGY),
        "gaudi-02": without(HOSTS["gaudi-02"], ENERGY),
    }
    assert energy_row(made(unwatched)) == ("not measured", "no node has recorded it: docs/monitoring.md")


def without(host, variable):
    return {name: value for name, value in host.items() if name != variable}


def told(host, **info):
    return {**host, INFO: {**host[INFO], **info}}


def test_of_a_job_that_was_stopped_and_gone_on_with_all_is_of_the_last_launch():
    weekend = 60 * 3600
    friday = run(0, 300, BEGIN - weekend)
    hosts = {**HOSTS, "gaudi-01": node(runs=[friday, *(moved(one, 300) for one in RUNS)])}
    assert made(hosts).options["data"] == made().options["data"]
    (note,) = [note for note in made(hosts).options["notes"] if note.startswith("all figures are of the launch at")]
    assert "300 steps of launches before it" in note
    assert not any("launch" in note for note in made().options["notes"])


def moved(one, steps):
    """The same run from as many steps later on."""
    points = [{**point, "step": point["step"] + steps} for point in one["points"]]
    start = {**one["start"], "step": one["start"]["step"] + steps}
    return {**one, "points": points, "start": start, "last": {**one["last"], "step": one["last"]["step"] + steps}}


def test_a_launch_that_has_told_no_steps_is_not_billed_for_those_before_it():
    hosts = {"gaudi-01": node(runs=[run(0, 300, BEGIN - 60 * 3600)])}
    with pytest.raises(GaudiError, match="it has reported fewer than two steps since its last launch"):
        made(hosts)


def test_a_node_that_lost_its_power_is_not_billed_until_today():
    dark = told(HOSTS["gaudi-01"], state="failed", ended=None, last_metrics={"time": BEGIN + 9 * 3600})
    other = told(HOSTS["gaudi-02"], ended=BEGIN + 9.1 * 3600)
    report = made({"gaudi-01": dark, "gaudi-02": other}, now=BEGIN + 100 * 3600, energy=False)
    assert report.options["data"]["total"] == pytest.approx(2 * 9.1 * A_NODE_HOUR)
    alone = made({"gaudi-01": dark}, now=BEGIN + 100 * 3600, energy=False)
    assert alone.options["data"]["seconds"] == 9 * 3600


def test_a_node_of_an_earlier_launch_costs_nothing_today():
    launched = {"hosts": ["n1", "n5"]}
    before = told(node(), started=BEGIN - 9e4, ended=BEGIN - 100, description={"hosts": ["n1", "n4"]})
    hosts = {
        "n1": told(HOSTS["gaudi-01"], description=launched),
        "n4": before,
        "n5": told(HOSTS["gaudi-02"], description=launched),
    }
    report = made(hosts)
    assert report.options["data"] == {**made().options["data"], "nodes": ["n1", "n5"]}
    assert report.outcome["nodes"]["n4"] == "not in the job"


def test_a_node_that_was_watched_for_a_part_of_the_launch_leaves_a_gap():
    late = told(node(joules=8 * 500 * 5 * 3600.0), started=BEGIN + 5 * 3600)
    late[ENERGY] = {**late[ENERGY], "card_seconds": 8 * 5 * 3600.0}
    with pytest.raises(GaudiError, match="the power of 25% of the run is not known"):
        made({**HOSTS, "gaudi-02": late})
    seconds = 8 * (HOURS * 3600.0 - 30)
    nearly = {**node(), ENERGY: {"cards": CARDS, "joules": 500 * seconds, "gap_seconds": 0, "card_seconds": seconds}}
    assert made({**HOSTS, "gaudi-02": nearly}).options["data"]["energy_gap"] == 0


def test_what_nobody_entered_is_said_and_not_added():
    report = made(capital={}, node_hour=30.0, kwh=None, pue=None)
    assert report.options["data"]["total"] == 2 * HOURS * 30
    notes = " ".join(report.options["notes"])
    assert "gaudi_cost_overhead_watts adds them" in notes and "energy is not priced (gaudi_cost_kwh)" in notes


def test_a_faster_rate_saved_what_the_same_tokens_cost_before():
    report = made(before={"tokens_per_second": RATE / 2, "source": "probe_batch_size of May"})
    now = 560 * 60 * RATE / (HOURS * 3600)
    saved = report.options["data"]["total"] * (now / (RATE / 2) - 1)
    assert values(report)["saved by being faster"] == f"{saved:,.2f} EUR"


def test_other_platforms_by_their_own_figures():
    rented = {
        "name": "rented",
        "source": "our runs of March, wiki page 412",
        "nodes": 2,
        "tokens_per_second": 1e5,
        "node_hour": 90,
    }
    report = made(platforms=[rented])
    (section,) = report.options["sections"]
    assert section["rows"][0]["source"] == rented["source"]
    assert section["rows"][0]["hours"] == f"{560 * 60 * RATE / 1e5 / 3600:,.1f}"
    assert (section["rows"][0]["energy"], section["notes"][1][:9]) == ("in nodes", "in nodes:")
    assert [one["label"] for one in report.options["bars"][0]["amounts"]] == ["llama", "rented"]


BOUGHT = {
    "name": "bought",
    "source": "our runs of March, wiki page 412",
    "nodes": 2,
    "tokens_per_second": 1e5,
    "node_hour": 5,
    "kwh": 0.3,
}


def test_a_total_without_its_power_does_not_stand_beside_one_with_it():
    with pytest.raises(
        GaudiError, match=r"the power of bought has a price .* give its watts, or leave energy out of all"
    ):
        made(platforms=[BOUGHT])
    unwatched = {
        **HOSTS,
        "gaudi-01": without(HOSTS["gaudi-01"], ENERGY),
        "gaudi-02": without(HOSTS["gaudi-02"], ENERGY),
    }
    with pytest.raises(GaudiError, match=r"the power of llama has a price .* run monitoring\.yml before the job"):
        made(unwatched, platforms=[{**BOUGHT, "watts": 9000}])


def test_energy_that_is_left_out_is_left_out_of_all():
    report = made(platforms=[{**BOUGHT, "watts": 9000}], energy=False)
    assert report.options["sections"][0]["rows"][0]["energy"] == "-"
    assert [one["parts"][1] for one in report.options["bars"][0]["amounts"]] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ({"a": HOSTS["gaudi-03"]}, "gaudi_cost_job llama: no host of the play has such a job"),
        ({}, "gaudi_cost_job llama: no host of the play has such a job"),
        ({"a": node()}, "gaudi_cost_job llama: it has reported fewer than two steps"),
        ({"a": {INFO: HOSTS["gaudi-01"][INFO]}}, "gaudi_cost_job llama: it has reported fewer than two steps"),
    ],
)
def test_a_job_that_nobody_knows_is_refused(hosts, sentence):
    with pytest.raises(GaudiError, match=sentence):
        made(hosts)


def test_the_page_is_whole_and_becomes_a_pdf():
    options = made().options
    names = ("rows", "columns", "notes", "sections", "bars")
    page = report_page(options["title"], subtitle="now", **{name: options[name] for name in names})
    assert "<rect" in page and "Cost of job llama" in page
    pytest.importorskip("weasyprint")
    assert pdf_of(page).startswith(b"%PDF-")


def test_a_page_that_asks_for_something_beside_it_gets_nothing(tmp_path):
    pytest.importorskip("weasyprint")
    secret = tmp_path / "secret.txt"
    secret.write_text("planted")
    made_of = pdf_of(f'<p>x</p><img src="file://{secret}"><link rel="attachment" href="file://{secret}">')
    assert b"planted" not in made_of and b"EmbeddedFile" not in made_of


def test_a_job_with_part_of_its_nodes_pays_for_that():
    def part(host):
        energy = host[ENERGY]
        few = {**energy, **{name: energy[name] / 2 for name in ("joules", "card_seconds")}}
        cards = dict(list(energy["cards"].items())[:4])
        return {**host, INFO: {**host[INFO], "modules": [4, 5, 6, 7], "node_cards": 8}, ENERGY: {**few, "cards": cards}}

    halves = {**HOSTS, **{name: part(HOSTS[name]) for name in ("gaudi-01", "gaudi-02")}}
    whole, half = made(), made(halves)
    assert half.options["data"]["kwh"] == pytest.approx(40)
    assert half.options["data"]["total"] == pytest.approx(whole.options["data"]["total"] / 2)
    assert values(half)["part of the nodes"] == "1 of them: the job's cards are 50% of each"
    assert "part of the nodes" not in values(whole)
