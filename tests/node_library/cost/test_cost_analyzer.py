# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.cost import CostAnalyzer

HERE = {
    "source": "report_cost.yml of job llama, 2026-11-20",
    "nodes": 2,
    "tokens_per_second": 1e5,
    "watts": 14000,
    "node_hour": 30.0,
    "kwh": 0.2,
}
THERE = {**HERE, "source": "run of May on the rented cluster", "tokens_per_second": 2e5, "node_hour": 90.0}


@pytest.fixture
def analyzer():
    return CostAnalyzer("EUR", {"gaudi3": HERE, "rented": THERE})


def test_the_same_tokens_on_each_platform(analyzer):
    compared = analyzer.compare_training_cost(model_size="70B", dataset_tokens="3.6B", platforms=["gaudi3", "rented"])
    here, there = compared.rows()
    assert (here["hours"], here["nodes"], here["energy"]) == (10.0, 600.0, pytest.approx(28.0))
    assert (there["hours"], there["nodes"]) == (5.0, 900.0)
    assert here["per million tokens"] == pytest.approx(628 / 3600)
    assert here["source"] == HERE["source"]


def test_energy_is_left_out_where_nobody_wants_it(analyzer):
    compared = analyzer.compare_training_cost(dataset_tokens="1T", include_energy=False)
    assert [row["energy"] for row in compared.rows()] == [None, None]


def test_a_page_a_picture_and_a_pdf(analyzer, tmp_path):
    compared = analyzer.compare_training_cost(model_size="<70B>", dataset_tokens="1T")
    picture = compared.plot_tco_breakdown(tmp_path / "tco.svg")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert (tmp_path / "tco.svg").read_text() == picture
    page = compared.generate_report(tmp_path / "cost.html").read_text()
    assert "&lt;70B&gt;" in page and HERE["source"] in page and "<svg" in page
    pytest.importorskip("weasyprint")
    assert compared.generate_report(tmp_path / "cost.pdf").read_bytes().startswith(b"%PDF-")


def test_who_rents_has_the_power_in_the_price_of_a_node(tmp_path):
    rented = {**THERE, "kwh": None, "watts": None}
    compared = CostAnalyzer("EUR", {"gaudi3": HERE, "rented": rented}).compare_training_cost(dataset_tokens="3.6B")
    assert [row["energy"] for row in compared.rows()] == [pytest.approx(28.0), None]
    assert "<td>in nodes</td>" in compared.generate_report(tmp_path / "cost.html").read_text()


@pytest.mark.parametrize(
    ("platforms", "sentence"),
    [
        (["own"], "platforms has own, at 0 EUR in all, of which no bar can be drawn; give one whose node_hour"),
        ([], "platforms has none, at 0 EUR in all"),
    ],
)
def test_what_costs_nothing_is_not_drawn(platforms, sentence, tmp_path):
    own = {**HERE, "node_hour": 0, "kwh": None}
    compared = CostAnalyzer("EUR", {"own": own}).compare_training_cost(dataset_tokens="1T", platforms=platforms)
    with pytest.raises(GaudiError, match=sentence):
        compared.plot_tco_breakdown(tmp_path / "tco.svg")
    assert not (tmp_path / "tco.svg").exists()
    assert "<table>" in compared.generate_report(tmp_path / "cost.html").read_text()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CostAnalyzer("EUR", {"h100": {**HERE, "source": ""}}), "platforms has h100 without a source"),
        (lambda: CostAnalyzer("EUR", {"h100": {**HERE, "currency": "USD"}}), "h100 in USD beside EUR"),
        (
            lambda: CostAnalyzer("EUR", {"a": HERE}).compare_training_cost(dataset_tokens="1T", platforms=["h100"]),
            "platforms has 'h100', of which nothing was measured; give it to CostAnalyzer, which knows a",
        ),
        (
            lambda: CostAnalyzer("EUR", {"a": HERE, "b": {**HERE, "watts": None}}).compare_training_cost(
                dataset_tokens="1T"
            ),
            "platforms has b with kwh and without watts beside others whose power is in their total",
        ),
        (
            lambda: CostAnalyzer("EUR", {"a": HERE}).compare_training_cost(dataset_tokens="all"),
            "dataset_tokens is 'all'",
        ),
    ],
)
def test_what_nobody_has_measured_is_refused(make, sentence):
    with pytest.raises(GaudiError, match=sentence):
        make()
