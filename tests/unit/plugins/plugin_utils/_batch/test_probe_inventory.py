# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import sharing
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_inventory import next_round
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_report import probe_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page

GIB = 1 << 30


def trial(size, outcome="ok", limit=128 * GIB):
    return {
        "batch_size": size,
        "outcome": outcome,
        "peak_memory_bytes": (20 + size) * GIB if outcome == "ok" else None,
        "step_seconds": 0.01 * size if outcome == "ok" else None,
        "limit_bytes": limit,
        "message": "" if outcome == "ok" else "first line\nout of memory",
    }


def node(size=None, key="a", verified=False, trials=(), fields=None, **more):
    """What the module returned on a node; without a size it knows no answer."""
    return {
        "key": key,
        "fields": fields or {"generation": "gaudi3", "kind": key},
        "batch_size": size,
        "verified": verified,
        "certified": True,
        "within": 0.0,
        "why": "104 is out",
        "cached": False,
        "trials": list(trials),
        **more,
    }


FAILED = {
    "failed": True,
    "msg": "The trial of batch size 2 crashed.",
    "key": "a",
    "fields": {"kind": "a"},
    "trials": [],
}
UNREACHABLE = {"unreachable": True, "msg": "no route"}
FOUND = node(96, trials=[trial(8), trial(96)])
VERIFIED = node(96, verified=True, trials=[trial(96)])


def test_one_node_of_each_kind_searches_first():
    plan = next_round({"n1": node(), "n2": node(), "n3": node(key="b"), "n4": UNREACHABLE})
    assert (plan.search, plan.verify) == (("n1", "n3"), ())


def test_a_kind_with_an_answer_on_any_node_needs_no_search():
    plan = next_round({"n1": node(), "n2": FOUND})
    assert (plan.search, plan.verify, plan.batch_size) == ((), ("n1",), 96)


def test_the_others_verify_the_least_of_the_answers():
    plan = next_round({"n1": FOUND, "n2": node(64, key="b"), "n3": node(), "n4": node(key="b")})
    assert (plan.verify, plan.batch_size) == (("n3", "n4"), 64)


def test_nobody_verifies_before_every_kind_has_its_answer():
    plan = next_round({"n1": FOUND, "n2": node(), "n3": node(key="b")})
    assert (plan.search, plan.verify) == (("n3",), ())


def test_where_the_first_fails_another_one_searches_and_after_two_the_kind_is_left():
    assert next_round({"n1": FAILED, "n2": node(), "n3": node()}).search == ("n2",)
    assert next_round({"n1": UNREACHABLE, "n2": node()}).search == ("n2",)
    left = next_round({"n1": FAILED, "n2": FAILED, "n3": node()})
    assert (left.search, left.verify) == ((), ())
    # What another kind has found may run here all the same.
    assert next_round({"n1": FAILED, "n2": FAILED, "n3": node(), "n4": node(64, key="b")}).verify == ("n3",)


def test_when_all_have_an_answer_nothing_is_left_to_do():
    plan = next_round({"n1": FOUND, "n2": VERIFIED, "n3": FAILED})
    assert (plan.search, plan.verify) == ((), ())


def test_the_answer_is_what_all_can_run_and_sick_nodes_are_named():
    report = probe_report({"n1": FOUND, "n2": VERIFIED, "n3": FAILED, "n4": UNREACHABLE})
    assert (report["batch_size"], report["title"]) == (96, "Batch size 96 on 2 nodes")
    assert [row["verdict"] for row in report["rows"]] == ["ok", "ok", "failed", "unreachable"]
    assert report["failures"] == {"n3": "The trial of batch size 2 crashed.", "n4": "cannot be reached: no route"}
    assert "n3: The trial of batch size 2 crashed." in report["notes"]


def test_nodes_with_one_reason_share_a_sentence_and_those_left_out_are_told_why():
    report = probe_report({"n1": FAILED, "n2": FAILED, "n3": node()})
    assert report["title"] == "No batch size is known"
    assert report["notes"] == [
        "n1, n2: The trial of batch size 2 crashed.",
        "n3: was not probed, since n1 and n2 of its kind failed",
    ]
    assert [row["verdict"] for row in report["rows"]] == ["failed", "failed", "not probed"]


def test_a_node_that_runs_less_than_its_equals_is_an_outlier_and_says_why():
    less = node(48, trials=[trial(96, "out_of_memory"), trial(48, limit=60 * GIB)])
    report = probe_report({"n1": FOUND, "n2": less, "n3": VERIFIED})
    assert report["batch_size"] == 48
    assert [row["verdict"] for row in report["rows"]] == ["ok", "outlier", "ok"]
    reported, without = report["notes"]
    assert reported.startswith(
        "n2 ran out of memory with 96, and n1, which is of its kind, ran 96: its trials had 61440 MiB"
    )
    assert without.startswith("without n2 all could run 96")


def test_a_kind_that_holds_the_others_back_is_named_with_what_differs():
    odd = node(64, key="b", fields={"generation": "gaudi2", "kind": "a"})
    fields = {"generation": "gaudi3", "kind": "a"}
    report = probe_report({"n1": node(96, fields=fields), "n2": node(64, verified=True, fields=fields), "n3": odd})
    assert report["rows"][2]["differs in"] == "generation: gaudi2 instead of gaudi3"
    assert report["rows"][0]["differs in"] is None
    assert report["notes"] == ["64 is what n3 can run; kind 1 could run 96"]


def test_a_global_batch_is_made_of_what_all_can_run():
    worker_group = sharing(1024, world_size=4, learning_rate=0.1, learning_rate_batch=256)
    report = probe_report({"n1": FOUND, "n2": VERIFIED}, worker_group)
    assert (report["global_batch"]["batch_size"], report["global_batch"]["accumulation_steps"]) == (64, 4)
    assert "1024 samples a step: 64 a rank and pass, 4 passes, 4 ranks; learning rate 0.4" in report["notes"]


def test_in_check_mode_nothing_is_known_and_nobody_has_failed():
    report = probe_report({"n1": node(), "n2": node()}, check_mode=True)
    assert (report["batch_size"], report["failures"]) == (None, {})
    assert report["title"] == "No batch size is known (check mode: nothing was tried)"


def test_the_page_has_memory_and_throughput_with_the_limit_and_the_choice():
    found = node(96, trials=[trial(8), trial(96), trial(112, "out_of_memory")])
    report = probe_report({"n1": found})
    keys = ("rows", "columns", "notes", "sections", "charts")
    page = report_page(report["title"], subtitle="now", **{key: report[key] for key in keys})
    svgs = [ElementTree.fromstring(f"<svg{part.split('</svg>')[0]}</svg>") for part in page.split("<svg")[1:]]
    texts = [[text.text for text in svg.iter("text")] for svg in svgs]
    assert "limit 128 GiB" in texts[0]
    assert all("choice 96" in one and "112 ran out of memory" in one for one in texts)
    assert [len(list(svg.iter("circle"))) for svg in svgs] == [2, 2]
    assert report["sections"][0]["rows"][2]["message"] == "out of memory"
