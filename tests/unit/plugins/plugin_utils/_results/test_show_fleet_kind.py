# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet on a page: the bad first, each with what to run, and nobody called well of whom nothing is known."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import Family, Sample, text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.told import FILES, read_told
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.show_fleet_kind import TOLD, show_fleet_kind

NOW = 1795608000.0


def sample(name, value, **labels):
    return {"name": name, "labels": labels, "value": value}


def told(*more, driven=2, celsius=41.0, since=5.0):
    """Of a node that is to have two cards, and has both on its bus."""
    cards = {"expected": 2, "present": 2, "driven": driven}
    found = [sample(f"gaudi_cards_{name}", count) for name, count in cards.items()]
    for card in range(driven):
        found += [
            sample("gaudi_card_operational", 1, card=str(card)),
            sample("gaudi_card_temperature_celsius", celsius, card=str(card)),
            sample("gaudi_card_temperature_limit_celsius", 83, card=str(card)),
            sample("gaudi_card_power_watts", 226.0, card=str(card)),
            sample("gaudi_card_utilization_ratio", 0.5, card=str(card)),
            sample("gaudi_port_up", 1, card=str(card), port="20"),
        ]
    found += [
        sample("gaudi_node_driver_info", 1, release="1.24.1"),
        sample("gaudi_collector_last_success_timestamp_seconds", NOW - since, about="cards"),
        sample("gaudi_collector_interval_seconds", 15, about="cards"),
    ]
    return {TOLD: {"samples": [*found, *more], "time": NOW}}


def made(**hosts):
    return show_fleet_kind(Asked(hosts, {}, False))


def test_a_well_fleet_is_one_table():
    trains = [
        sample("gaudi_job_running", 1, training="llama"),
        sample("gaudi_job_step", 1200, training="llama"),
        sample("gaudi_job_tokens_per_second", 52000.4, training="llama"),
    ]
    report = made(a=told(*trains), b=told())
    assert report.options["rows"][0] == {
        "node": "a",
        "state": "ok",
        "cards": "2/2",
        "°C": "41",
        "W": "452",
        "busy": "50%",
        "ports": "2/2",
        "driver": "1.24.1",
        "training": "llama",
        "step": "1,200",
        "tokens/s": "52,000",
    }
    assert report.outcome["ok"] and report.outcome["numbers"] == {"watts": 904.0, "cards": 4}
    assert report.reasons == {}


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (told(driven=1), "1 of 2 cards work with the driver: gaudi3.scale.verify reports the card"),
        (told(driven=0), "0 of 2 cards work with the driver"),
        (told(sample("gaudi_card_operational", 0, card="1")), "card 1 does not work: gaudi3.scale.quarantine_node"),
        (told(celsius=0.0), "card 0 did not start (0 °C)"),
        (told(celsius=90.0), "card 0 has 90 °C of 83"),
        (told(sample("gaudi_card_ecc_uncorrected_total", 3, card="1")), "card 1 has 3 uncorrected errors"),
        (
            told(sample("gaudi_port_up", 0, card="0", port="21")),
            "have no link: gaudi3.scale.plan_fabric",
        ),
        (told(since=600.0), "no new data of its cards since 10 min: hl-smi hangs"),
        (told(sample("gaudi_node_quarantined", 1)), "is in quarantine: release it with gaudi3.scale.return_node after"),
    ],
)
def test_who_is_not_well_comes_first_with_what_to_run(bad, sentence):
    report = made(well=told(), bad=bad)
    assert [(row["node"], row["state"]) for row in report.options["rows"]] == [("bad", "failed"), ("well", "ok")]
    assert sentence in report.options["notes"][0] and report.options["notes"][0].startswith("bad: ")
    assert not report.outcome["ok"]


def test_of_whom_nothing_is_known_nobody_says_that_it_is_well():
    report = made(new={TOLD: {"samples": [], "time": NOW}}, gone={TOLD: {"unreachable": True}}, never={})
    assert report.outcome["nodes"] == {"new": "not monitored", "gone": "unreachable", "never": "unreachable"}
    assert not report.outcome["ok"] and report.options["bars"] == []


def of_one(**parts):
    """An answer with one sample, of which ``parts`` are other than they would be."""
    return {"samples": [{**sample("gaudi_card_power_watts", 226.0, card="0"), **parts}], "time": NOW}


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"samples": [], "time": "x"}, "time is 'x'"),
        ({"samples": []}, "time is missing"),
        ({"samples": [1], "time": NOW}, "samples[0] is 1"),
        ({"samples": None, "time": NOW}, "samples is None"),
        ({"samples": [{}] * 8001, "time": NOW}, "samples is 'list of 8001'"),
        (of_one(name=["gaudi_card_power_watts"]), "samples[0].name is ["),
        (of_one(labels=["card"]), "samples[0].labels is 'list of 1'"),
        (of_one(labels={"card": 0}), "samples[0].labels.card is 0"),
        (of_one(labels={str(number): "0" for number in range(21)}), "samples[0].labels is 'dict of 21'"),
        (of_one(value="much"), "samples[0].value is 'much'"),
        (of_one(value=None), "samples[0].value is None"),
        (of_one(value=1e308), "samples[0].value is 1e+308"),
    ],
)
def test_an_answer_of_whatever_kind_is_a_row_and_the_others_stay(answer, field):
    report = made(well=told(), bad={TOLD: answer})
    assert report.options["rows"][0] == {"node": "bad", "state": "unreadable"}
    assert report.options["rows"][1]["W"] == "452"
    assert f"bad answered node_metrics_info with an invalid result: {field}" in report.reasons["bad"]
    assert report.options["notes"][0] == f"bad: {report.reasons['bad']}"
    assert report.outcome["nodes"] == {"well": "ok", "bad": "unreadable"} and not report.outcome["ok"]


def test_of_what_is_no_number_nothing_is_known():
    report = made(a=told(*(sample("gaudi_card_power_watts", name, card="2") for name in ("nan", "inf", "-inf"))))
    assert report.outcome["numbers"] == {"watts": 452.0, "cards": 2}


def test_words_of_a_node_are_no_template_and_one_line():
    bad = sample("gaudi_card_operational", 0, card="{{ 1 }}\n\x1b[2J")
    assert made(a=told(bad)).reasons["a"] == "card { { 1 }}  [2J does not work: gaudi3.scale.quarantine_node"


def test_what_is_written_is_read(tmp_path):
    odd = 'a "quoted" \\ name,\nwith="all"'
    families = [
        Family("gaudi_job_loss", "Loss.", (Sample(float("nan"), {"training": odd}),)),
        Family("gaudi_card_power_watts", "Power.", (Sample(226.5, {"card": "0"}), Sample(1e17, {"card": "1"}))),
        Family("gaudi_cards_present", "Cards.", (Sample(8),)),
    ]
    (tmp_path / FILES[0]).write_text(text_of(families))
    (tmp_path / FILES[1]).write_text("# HELP\nno line\ngaudi_x{a=\n gaudi_y nothing\n")
    assert read_told(tmp_path) == [
        {"name": "gaudi_card_power_watts", "labels": {"card": "0"}, "value": 226.5},
        {"name": "gaudi_card_power_watts", "labels": {"card": "1"}, "value": 1e17},
        {"name": "gaudi_cards_present", "labels": {}, "value": 8.0},
        {"name": "gaudi_job_loss", "labels": {"training": odd}, "value": "nan"},
    ]
    assert read_told(tmp_path / "missing") == []


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1e", "\x85", "\u2028"])
def test_no_label_is_a_line_of_its_own(tmp_path, end):
    label = f"x{end}gaudi_node_quarantined 0{end}"
    (tmp_path / FILES[0]).write_bytes(f'gaudi_job_info{{training="{label}"}} 1\n'.encode())
    assert read_told(tmp_path) == [sample("gaudi_job_info", 1.0, training=label)]
