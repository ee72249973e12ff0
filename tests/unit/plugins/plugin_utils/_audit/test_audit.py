# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The audit's verdicts: what passes was measured, a guide's figure fails nothing, a silent node hides no other."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.action.cluster_audit import _job
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.answers import FACTS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import NODE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.items import ITEMS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.judgment import Judged, judged
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.measures import Facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import GUIDE, MOST, Threshold, targets_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.verdicts import Failed, Passed, Unknown
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import RefusedError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import exit_code
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS

TODAY = date(2026, 11, 30)
START = {
    "precision": "bf16",
    "compiled": True,
    "clip": 1.0,
    "schedule": "cosine",
    "checkpointing": False,
    "batch_size": 16,
    "workers": "auto",
    "checkpoint_every": 100,
    "flags": {"PT_HPU_LAZY_MODE": "0"},
    "versions": {"torch": "2.13.0"},
}
STEP = {
    "step": 100,
    "tokens_per_second": 5e5,
    "seconds": {"step": 1.0, "data": 0.02, "forward": 0.3, "backward": 0.5, "communication": 0.08},
    "gradient_norm": 0.7,
}
JOB: dict[str, Any] = {
    "state": "running",
    "start": START,
    "step": STEP,
    "checkpoint": {"seconds": 20.0, "blocked_seconds": 0.4},
    "end": {},
    "restarts": 0,
    "usage": {"time": 1.0, "utilization": 93.0},
}
NODE_FACTS: dict[str, Any] = {
    "system": {"cpu_busy": 0.4, "io_wait": 0.01, "memory_used": 0.3},
    "flags": {"PT_HPU_RECIPE_CACHE_CONFIG": "/x,true,8192"},
    "qualification": {"state": "healthy", "time": "2026-11-25"},
    "jobs": {"known": 4, "failed": 0},
    "job": JOB,
    "cards": {"compared": 8, "explained": [], "unexplained": [], "hlml_reason": ""},
    "stack": {"driver": "1.24.1-b336d5e", "kernel": "6.8.0-45-generic", "os": "ubuntu-24.04"},
}
REPORTS: dict[str, Any] = {
    "site": {"title": "Site", "rows": [{"verdict": "ok"}]},
    "measure_collectives": {"title": "Collectives"},
    "measure_storage": {"title": "Storage", "exit_code": 0},
    "tune_training": {"title": "Study"},
    "baseline": {"figures": {}},
}
TARGETS = {"batch_size": 16.0, "tokens_per_second": 4e5, "utilization": 0.9}


def audit(
    nodes: dict[str, Any] | None = None, silent: dict[str, str] | None = None, targets: dict[str, float] | None = None
) -> dict[tuple[str, str], Judged]:
    known = {"n1": NODE_FACTS, "n2": {**NODE_FACTS, "job": {}}} if nodes is None else nodes
    found = judged(
        ITEMS, Facts(known, _job(known), REPORTS if known else {}, today=TODAY), silent or {}, targets or {}, "llama"
    )
    return {(one.item.name, one.subject): one for one in found}


def verdict(found: dict[tuple[str, str], Judged], item: str, subject: str = "llama") -> Any:
    return found[item, subject].verdict


def test_where_all_was_measured_and_is_good_only_what_has_no_figure_is_unknown() -> None:
    found = audit(targets=TARGETS)
    assert {key for key, one in found.items() if isinstance(one.verdict, Failed)} == set()
    unknown = {name for (name, _subject), one in found.items() if isinstance(one.verdict, Unknown)}
    assert unknown == {"samples_per_second", "validation_loss"}
    assert found["qualified", "n2"].verdict.measured.seen == "healthy at 2026-11-25"  # type: ignore[union-attr]


def test_where_nothing_was_measured_nothing_passes() -> None:
    found = audit({}, {"n1": "No route to host"})
    assert {type(one.verdict) for one in found.values()} == {Unknown}
    assert verdict(found, "cpu_busy", "n1") == Unknown("No route to host")


@pytest.mark.parametrize("kind", [Passed, Failed])
def test_a_verdict_without_a_measurement_cannot_be_made(kind: Any) -> None:
    with pytest.raises(TypeError, match="needs what was measured"):
        kind(*([None] if kind is Passed else [None, "why"]))


def test_each_item_fails_by_what_it_is_about_and_by_nothing_else() -> None:
    bad: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "mixed_precision": ({"precision": "fp32"}, {}),
        "compiled": ({"compiled": False}, {}),
        "flags": ({"flags": {"PT_HPU_FUSION_BUFFER_SIZE": "64MB"}}, {}),
        "data_workers": ({"workers": 0}, {}),
        "schedule": ({"schedule": "constant"}, {}),
        "clipping": ({"clip": 0.0}, {}),
        "data_share": ({}, {"seconds": {**STEP["seconds"], "data": 0.2}}),  # type: ignore[dict-item]
        "communication_share": ({}, {"seconds": {**STEP["seconds"], "communication": 0.3}}),  # type: ignore[dict-item]
        "gradient_norm": ({}, {"gradient_norm": "nan"}),
        "step_parts": ({}, {"seconds": {"step": 1.0}}),
        "recorded": ({"versions": None}, {}),
    }
    for item, (start, step) in bad.items():
        job = {**JOB, "start": {**START, **start}, "step": {**STEP, **step}}
        found = audit({"n1": {**NODE_FACTS, "job": job}})
        failed = {name for (name, _subject), one in found.items() if isinstance(one.verdict, Failed)}
        assert failed == {item}, item


def test_a_guide_s_figure_is_watched_and_the_site_s_own_fails() -> None:
    idle = {**NODE_FACTS, "job": {**JOB, "usage": {"time": 1.0, "utilization": 40.0}}}
    guide = audit({"n1": idle})["utilization", "llama"]
    assert isinstance(guide.verdict, Failed) and not guide.counts
    assert guide.verdict.why.startswith("0.4, expected at least 0.85 of the time (a guideline without a source)")
    own = audit({"n1": idle}, targets={"utilization": 0.5})["utilization", "llama"]
    assert isinstance(own.verdict, Failed) and own.counts
    assert isinstance(audit({"n1": idle}, targets={"utilization": 0.3})["utilization", "llama"].verdict, Passed)


def test_advice_is_watched_and_fails_where_the_site_requires_it() -> None:
    known = {"n1": {**NODE_FACTS, "job": {**JOB, "start": {**START, "clip": 0.0}}}}
    for required, counts in ([], False), (["clipping"], True):
        found = judged(ITEMS, Facts(known, _job(known), REPORTS), {}, {}, "llama", required)
        (clipping,) = [one for one in found if one.item.name == "clipping"]
        assert (type(clipping.verdict), clipping.counts) == (Failed, counts)


def test_without_a_target_of_the_site_s_a_rate_is_told_and_not_judged() -> None:
    said = verdict(audit(), "tokens_per_second")
    assert isinstance(said, Unknown) and "500,000 tokens/s" in said.why
    assert "no target in gaudi_audit_targets" in said.why


def test_the_job_is_that_of_the_node_that_has_its_newest_lines() -> None:
    old = {**JOB, "step": {"step": 7}}
    assert _job({"a": {"job": {}}, "b": {"job": old}, "c": {"job": JOB}})["step"]["step"] == 100
    assert _job({"a": {"job": {"state": "running"}}}) == {"state": "running"}


def test_a_node_with_failed_jobs_and_one_with_other_flags_are_named() -> None:
    found = audit({"n1": NODE_FACTS, "n2": {**NODE_FACTS, "flags": {}, "jobs": {"known": 4, "failed": 2}, "job": {}}})
    assert verdict(found, "same_flags", "cluster").why == "n2 differ"
    assert isinstance(verdict(found, "failed_jobs", "n1"), Passed)
    assert verdict(found, "failed_jobs", "n2").measured.value == 0.5
    assert isinstance(verdict(found, "recipe_cache", "n2"), Failed)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"speed": 3}, "gaudi_audit_targets names speed, which has no target; known are batch_size"),
        ({"utilization": "high"}, "has utilization: 'high'; give a number"),
        ({"mixed_precision": 1}, "names mixed_precision, which has no target"),
    ],
)
def test_targets_that_mean_nothing_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        targets_of(given, {item.name: item for item in ITEMS if item.threshold or item.target})
    assert sentence in str(refused.value)


@pytest.mark.parametrize("wrong", [{"unit": ""}, {"which": "about"}, {"provenance": "hearsay"}])
def test_a_threshold_needs_a_unit_a_side_and_a_source(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not a threshold"):
        Threshold(1.0, **{"which": MOST, "unit": "s", "provenance": GUIDE, **wrong})


def test_what_a_node_never_says_is_refused() -> None:
    assert FACTS(NODE_FACTS, "")["job"]["start"]["flags"] == {"PT_HPU_LAZY_MODE": "0"}
    for wrong in (
        {**NODE_FACTS, "jobs": {"known": -1, "failed": 0}},
        {**NODE_FACTS, "system": {"cpu_busy": "much", "io_wait": None, "memory_used": None}},
        {**NODE_FACTS, "job": {"state": "x", "start": {"a": {"b": {"c": {"d": {}}}}}}},
    ):
        with pytest.raises(RefusedError):
            FACTS(wrong, "")


def reported(found: dict[tuple[str, str], Judged], job: str = "") -> Made:
    from ansible_collections.gaudi3.scale.plugins.action.cluster_audit import _result

    hosts = {"n1": {"gaudi_audit_result": _result([*found.values()])}, "n2": {}}
    return KINDS["audit_cluster"].made(Asked(hosts, {"job": job}, False))


def test_the_report_begins_with_what_failed_and_its_command() -> None:
    slow = {**NODE_FACTS, "qualification": {"state": "unhealthy", "time": "today"}}
    made = reported(audit({"n1": slow, "n2": {**slow, "system": {**slow["system"], "io_wait": 0.5}, "job": {}}}))
    rows = made.options["rows"]
    assert [(row["item"], row["of"], row["verdict"]) for row in rows[:2]] == [
        ("qualified", "n1, n2", "fail"),
        ("io_wait", "n2", "watch"),
    ]
    assert rows[0]["do"] == "ansible-playbook gaudi3.scale.qualify_nodes"
    assert made.refusal == "qualified of n1: unhealthy at today; qualified of n2: unhealthy at today."
    assert exit_code(made.cases or []) == 1
    assert made.options["sections"][0]["rows"]


def test_without_a_job_its_items_are_one_row_and_cases_of_their_own() -> None:
    known = {"n1": {**NODE_FACTS, "job": {}}}
    found = judged(ITEMS, Facts(known, {}, REPORTS), {}, {}, "")
    made = reported({(one.item.name, one.subject): one for one in found})
    (row,) = [row for row in made.options["rows"] if row["item"].endswith("checks of a job")]
    assert (row["verdict"], row["do"]) == ("unknown", "-e gaudi_audit_job=NAME")
    assert len(made.cases or []) == len(found) > len(made.options["rows"])


def test_without_a_failure_it_is_no_refusal_and_what_is_unknown_is_told() -> None:
    made = reported(audit())
    assert (made.refusal, made.outcome["ok"], exit_code(made.cases or [])) == ("", True, 2)


def test_what_is_asked_of_nodes_is_asked_of_each() -> None:
    found = audit()
    for item in ITEMS:
        subjects = {subject for name, subject in found if name == item.name}
        assert subjects == ({"n1", "n2"} if item.of == NODE else subjects & {"llama", "cluster"})


@pytest.mark.parametrize("state", ["inconclusive", "undecided"])
def test_a_qualification_that_could_not_tell_is_unknown_and_fails_nothing(state: str) -> None:
    node = {**NODE_FACTS, "qualification": {"state": state, "time": "2026-11-25"}}
    found = audit({"n1": node, "n2": {**node, "qualification": {"state": "unhealthy", "time": "2026-11-25"}}})
    assert verdict(found, "qualified", "n1") == Unknown("its qualification at 2026-11-25 was inconclusive")
    assert isinstance(verdict(found, "qualified", "n2"), Failed)


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        (1, Failed, "measure_storage: n1 reads too slowly"),
        (2, Unknown, "measure_storage was inconclusive: n1 reads too slowly"),
        (None, Unknown, "measure_storage was inconclusive: n1 reads too slowly"),
    ],
)
def test_a_measurement_that_could_not_tell_is_unknown(
    monkeypatch: pytest.MonkeyPatch, code: int | None, kind: type, why: str
) -> None:
    report = {"title": "Storage", "exit_code": code, "notes": ["n1 reads too slowly."]}
    monkeypatch.setitem(REPORTS, "measure_storage", report)
    found = verdict(audit(), "storage", "cluster")
    assert isinstance(found, kind)
    assert found.why == why


@pytest.mark.parametrize(
    ("stack", "today", "kind", "words"),
    [
        ({}, TODAY, Passed, "release 1.24.1 and what it runs on; not in the table: nothing"),
        ({"kernel": "6.1.0-56-amd64"}, TODAY, Passed, "not in the table: kernel 6.1.0-56-amd64"),
        ({"kernel": "6.17.0-3-generic"}, TODAY, Failed, "6.17.0-3-generic does not work"),
        ({"driver": "1.21.1-bfcec49"}, TODAY, Failed, "Release 1.21.1 is no longer supported"),
        ({"driver": "1.99.0-1"}, TODAY, Unknown, "not in the table"),
        ({"driver": ""}, TODAY, Unknown, "no driver is loaded"),
        ({}, date(2028, 1, 1), Unknown, "may be outdated"),
    ],
)
def test_life_cycles_warn_and_pass_only_where_the_table_has_them(
    stack: dict[str, str], today: date, kind: Any, words: str
) -> None:
    facts = Facts({"n1": {**NODE_FACTS, "stack": {**NODE_FACTS["stack"], **stack}}}, today=today)
    (one,) = judged([item for item in ITEMS if item.name == "life_cycles"], facts, {}, {}, "")
    assert isinstance(one.verdict, kind) and not one.counts
    said = one.verdict.measured.seen if isinstance(one.verdict, Passed) else one.verdict.why
    assert words in said
