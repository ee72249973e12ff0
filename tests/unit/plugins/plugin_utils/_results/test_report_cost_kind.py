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
GIVEN = {
    "job": "llama",
    "currency": "EUR",
    "capital": {"price": 160000, "years": 4, "utilisation": 0.8},
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
        ENERGY: {"joules": joules, "gap_seconds": gap, "card_seconds": seconds},
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
    assert values(report)["in steps made again"] == "0 h 20 min (3.3%)"
    assert report.outcome["nodes"] == {"gaudi-01": "ok", "gaudi-02": "ok", "gaudi-03": "not in the job"}


def test_a_node_without_readings_is_a_gap_and_no_zero():
    blind = {
        **HOSTS,
        "gaudi-02": {**HOSTS["gaudi-02"], ENERGY: {"joules": 0.0, "gap_seconds": 0.0, "card_seconds": 0.0}},
    }
    with pytest.raises(GaudiError, match="the power of 50% of the run is not known"):
        made(blind)
    report = made(blind, energy=False)
    assert (report.options["data"]["kwh"], values(report)["energy"]) == (None, "not measured")


def test_a_node_that_does_not_answer_today_has_cost_what_the_others_did():
    lost = {**HOSTS, "gaudi-02": {INFO: {"unreachable": True}, HISTORY: {"unreachable": True}}}
    lost["gaudi-01"] = node(runs=[{**one, "start": {**one["start"], "nodes": 2}} for one in RUNS])
    report = made(lost, energy=False)
    assert report.options["data"]["total"] == pytest.approx(2 * HOURS * 160000 / (4 * 8766 * 0.8))
    with pytest.raises(GaudiError, match="the power of 50% of the run is not known"):
        made(lost)


def test_what_nobody_entered_is_said_and_not_added():
    report = made(capital={}, node_hour=30.0, kwh=None, pue=None)
    assert report.options["data"]["total"] == 2 * HOURS * 30
    notes = " ".join(report.options["notes"])
    assert "gaudi_cost_overhead_watts adds them" in notes and "energy has no price here (gaudi_cost_kwh)" in notes


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
    assert [one["label"] for one in report.options["bars"][0]["amounts"]] == ["llama", "rented"]


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ({"a": HOSTS["gaudi-03"]}, "gaudi_cost_job llama: no host of the play knows such a job"),
        ({}, "gaudi_cost_job llama: no host of the play knows such a job"),
        ({"a": node()}, "gaudi_cost_job llama: it has told no two steps"),
        ({"a": {INFO: HOSTS["gaudi-01"][INFO]}}, "gaudi_cost_job llama: it has told no two steps"),
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
