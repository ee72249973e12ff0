# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each kind of report, from what a playbook has registered to what the module ``report`` is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.action.report import ARGUMENTS
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._play_outcome import play_outcome
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS
from ansible_collections.gaudi3.scale.tests.unit.module_answers import probe_answer
from ansible_collections.gaudi3.scale.tests.unit.planned_node import VIRGIN, plan
from ansible_collections.gaudi3.scale.tests.unit.study_answer import REPORT, given_of_a_study

LOST = {"unreachable": True, "msg": "timed out"}
SHOWN = {"cards": [{"pci_address": "0", "module_id": 0, "board": "b", "before": "1", "verdict": "ok"}], "target": None}


def made(kind: str, given: dict[str, Any] | None = None, check_mode: bool = False, **hosts: Any) -> Made:
    named = {host: {"inventory_hostname": host, **values} for host, values in hosts.items()}
    return KINDS[kind].made(Asked(named, given or {}, check_mode))


GIVEN = {
    "audit_cluster": {"job": ""},
    "cap_power": {},
    "compare_settings": {
        "tolerance": 0.05,
        "together": True,
        "built_in": True,
        "workload": "m:f",
        "kept_file": "",
        "baseline": "",
    },
    "explain_flags": {},
    "explain_node": {"node": "n1"},
    "find_bad_nodes": {},
    "measure_collectives": {"floors": {}, "failure": ""},
    "measure_serving": {"input_tokens": 8, "output_tokens": 8, "first_token_ms": 0.0, "between_tokens_ms": 0.0},
    "measure_storage": {},
    "benchmark_fabric": {},
    "benchmark_training": {},
    "plan_fabric": {"pools": [], "hosts": [], "mtu": 8000, "priorities": [], "generation": "gaudi3"},
    "plan_upgrade": {},
    "profile_training": {"job": "llama"},
    "qualify_nodes": {},
    "probe_batch_size": {},
    "report_cost": {"job": "llama", "currency": "EUR", "node_hour": 30.0},
    "report_serving_cost": {"serving": "chat", "hours": 1.0, "currency": "EUR", "node_hour": 30.0},
    "show_fleet": {},
    "support_bundle": {},
    "training": {"job": "llama"},
    "tune_training": given_of_a_study(json.dumps(REPORT)),
    "upgrade_driver": {"release": "1.24.1"},
    "upgrade_firmware": {"accepted": True},
    "verdict": {"loss": 2.5},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_are_options_of_the_report(kind: str) -> None:
    steps = [{"step": step, "time": 100.0 + step} for step in range(3)]
    planned = {
        "gaudi_upgrade_plan_result": plan(),
        "__gaudi_cost_job": {"state": "succeeded", "started": 90.0, "ended": 110.0},
        "__gaudi_cost_course": {
            "runs": [{"start": None, "points": steps, "means": [], "last": steps[-1]}],
            "events": [],
        },
    }
    used = dict.fromkeys(("prompt_tokens", "joules", "gap_seconds", "card_seconds"), 0.0)
    used |= {"model": "m", "cards": 1, "node_cards": 8, "generated_tokens": 9.0, "known_seconds": 3600.0}
    reported = made(kind, GIVEN[kind], n1={**planned, "__gaudi_cost_serving": used}, n2={})
    assert {"title", "columns", "rows"} <= reported.options.keys() <= ARGUMENTS.keys()
    assert reported.outcome.keys() <= ARGUMENTS["outcome"]["options"].keys()


def test_every_kind_is_tried() -> None:
    assert GIVEN.keys() == KINDS.keys()


def test_a_probe_is_told_as_it_was_registered_for_all_nodes() -> None:
    results = {"n1": {**probe_answer(16, 16), "changed": True}, "n2": {"unreachable": True, "msg": "No route to host"}}
    shared = {"global_batch": 64, "world_size": 2, "batch_size": 16, "accumulation_steps": 2, "learning_rate": 0.1}
    reported = made("probe_batch_size", n1={"gaudi_batch_result": {"results": results, "global_batch": shared}})
    assert reported.outcome["nodes"] == {"n1": "ok", "n2": "unreachable"}
    assert reported.outcome["numbers"] == {"batch_size": 16, "accumulation_steps": 2, "learning_rate": 0.1}
    assert (reported.outcome["ok"], reported.reasons) == (False, {"n2": "cannot be reached: No route to host"})
    alone = made("probe_batch_size", n1={"gaudi_batch_result": {"results": {"n1": results["n1"]}}})
    assert alone.outcome["numbers"] == {"batch_size": 16, "accumulation_steps": 1, "learning_rate": None}
    assert alone.outcome["ok"] is True


INFO = {"state": "running", "description": {"hosts": ["n1", "n2"]}, "last_step": {"step": 7}, "last_loss": 2.5}


def of_a_training(**given: Any) -> Made:
    lost = {"supervision": {"generation": 1, "leader": "n3"}, "state": "failed"}
    led = {**INFO, "supervision": {"generation": 2, "leader": "n2"}}
    hosts = {
        "n1": {"__gaudi_training_info": lost},
        "n2": {"__gaudi_training_info": led},
        "n3": {"__gaudi_training_info": LOST},
    }
    return made("training", {"job": "llama", **given}, **hosts)


def test_a_training_is_told_by_the_node_that_leads_it_now() -> None:
    reported = of_a_training()
    assert reported.options["title"] == "Job llama: running"
    assert reported.outcome["nodes"] == {"n1": "failed", "n2": "running", "n3": "unreachable"}
    assert reported.outcome["numbers"] == {"last_step": 7, "last_loss": 2.5}
    assert (reported.outcome["ok"], reported.refusal) == (True, "")


def test_a_training_that_failed_is_shown_and_then_refused() -> None:
    reported = of_a_training(failure="rank 3 failed", left_out={"n3": "it does not answer"})
    assert (reported.outcome["ok"], reported.refusal) == (False, "rank 3 failed")
    assert reported.options["notes"][0] == "started without n3: it does not answer"
    assert reported.options["rows"][2]["state"] == "left out"


def test_a_job_that_nobody_knows_is_not_shown() -> None:
    asked, absent = (
        {"job": "lama", "has_to_be_known": True},
        {"__gaudi_training_info": {"state": "absent", "jobs": ["llama"]}},
    )
    near = r"^gaudi_training_name lama: no host that answers \(n2 did not\) has such a job; did you mean llama\?$"
    with pytest.raises(GaudiError, match=near):
        made("training", asked, n1=absent, n2={})
    with pytest.raises(
        GaudiError, match=r"lama: none of gaudi_training_hosts responded \(n1, n2\)\. On each host it did not respond"
    ):
        made("training", asked, n1={"__gaudi_training_info": {"unreachable": True}}, n2={})


def test_a_verdict_has_a_line_a_host_and_the_columns_that_were_given() -> None:
    reported = made("verdict", {"loss": 2.5}, n1={"gaudi_verify_result": {"summary": {"ok": True}}}, n2={})
    assert [(row["node"], row["verdict"], row["loss"]) for row in reported.options["rows"]] == [
        ("n1", "ok", 2.5),
        ("n2", "FAILED before preflight", 2.5),
    ]
    assert reported.options["notes"][0] == f"n2: it stopped there: {NOT_KNOWN}."
    assert reported.outcome["nodes"] == {"n1": "ok", "n2": "FAILED before preflight"}
    assert reported.options["title"] == "Verdict"
    assert "nothing was changed" in made("verdict", check_mode=True, n1={}).options["title"]


def test_a_run_over_one_layer_has_a_line_for_each_node():
    """n2 failed in an earlier play, by what no layer has registered; n3 was never reached."""
    host = {"gaudi_host_result": {}}
    driver = {"gaudi_driver_result": {}}
    given = {"failed": ["n2"], "verified": False}
    reported = made("verdict", given, n1={**host, **driver}, n2=host, n3={})
    assert [(row["node"], row["verdict"]) for row in reported.options["rows"]] == [
        ("n1", "ok: host, driver"),
        ("n2", "FAILED after host"),
        ("n3", "FAILED before preflight"),
    ]
    assert set(reported.options["rows"][0]) & set(given) == set()
    assert play_outcome(inventory=["n1", "n2", "n3"], **reported.outcome)["ok_nodes"] == ["n1"]


def test_a_plan_tells_the_next_job_how_each_node_stands() -> None:
    results = {"n1": plan(), "n2": plan(VIRGIN), "n3": LOST}
    reported = made("plan_upgrade", **{host: {"gaudi_upgrade_plan_result": one} for host, one in results.items()})
    assert reported.outcome["nodes"] == {"n1": "compatible", "n2": "compatible", "n3": "unreachable"}
    assert (reported.outcome["ok"], reported.refusal) == (True, "")
    assert isinstance(reported.outcome["numbers"]["in_the_way"], int)


@pytest.mark.parametrize(
    ("hosts", "refusal"),
    [
        ({}, "No host was inspected; see gaudi_hosts and --limit."),
        ({"n1": {"gaudi_upgrade_plan_result": LOST}}, "n1: unreachable: timed out"),
    ],
)
def test_a_plan_of_nothing_is_refused(hosts: dict[str, Any], refusal: str) -> None:
    assert made("plan_upgrade", **hosts).refusal == refusal


def test_a_node_that_nobody_knows_cannot_be_explained() -> None:
    with pytest.raises(GaudiError, match=r"^Nothing is known about n9: it was not inspected"):
        made("explain_node", {"node": "n9"}, n1={"gaudi_upgrade_plan_result": plan()})


def test_an_upgrade_names_its_release_and_each_reason_once_with_its_nodes() -> None:
    kept = {"state": "failed", "release": "1.24.1", "from": "1.23.0", "reason": "no.\nmore"}
    well = {**kept, "state": "unchanged"}
    reported = made(
        "upgrade_driver",
        {"release": "1.22.0"},
        n1={"gaudi_upgrade_result": kept},
        n2={},
        n3={"gaudi_upgrade_result": well},
    )
    assert reported.options["title"] == "Upgrade to 1.24.1"
    assert reported.options["notes"] == ["n1, n3: no."]
    assert reported.reasons == {"n1": "failed: no."}
    assert reported.outcome["nodes"] == {"n1": "failed", "n2": "not reached", "n3": "unchanged"}
    assert reported.outcome["words"] == {"release": "1.24.1"}
    assert "unchanged" in reported.outcome["good"]
    # Where no node has come far enough to say it.
    assert made("upgrade_driver", {"release": "1.22.0"}, n2={}).options["title"] == "Upgrade to 1.22.0"


def test_firmware_has_a_reason_for_each_host_with_which_something_is_wrong() -> None:
    reported = made(
        "upgrade_firmware",
        {"accepted": False},
        n1={"gaudi_firmware_shown_result": SHOWN},
        n2={"gaudi_firmware_shown_result": LOST},
    )
    assert reported.options["title"] == "Card firmware (no version accepted, nothing was changed)"
    assert reported.options["columns"][-2:] == ["published", "state"]
    inventory = made(
        "upgrade_firmware", {"accepted": False}, n1={"gaudi_firmware_shown_result": {**SHOWN, "target": "2"}}
    )
    assert inventory.options["title"] == "Card firmware"
    assert reported.reasons == {"n2": "n2: timed out"}
    assert reported.outcome["nodes"] == {"n1": "ok", "n2": "failed"}
