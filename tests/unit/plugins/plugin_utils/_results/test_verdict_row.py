# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.verdict_row import verdict_row

SUMMARY = {
    "ok": True,
    "problems": 0,
    "release": "1.24.1",
    "driver": "1.24.1-b336d5e",
    "cards_operational": 8,
    "cards_wanted": 8,
    "firmware": "1.22.0-fw-61.3.2-sec-3",
    "temperature_max_c": 38,
    "internal_links_up": 168,
    "internal_links_total": 168,
    "external_links_up": 0,
    "external_links_total": 24,
    "torch": "2.11.0",
}
LINE = {"kind": "collective", "world_size": 16, "busbw_gb_per_s": 51.234}


def node(**results):
    return {"inventory_hostname": "n1", **{f"gaudi_{layer}_result": result for layer, result in results.items()}}


def test_a_sound_node():
    row = verdict_row(
        node(verify={"summary": SUMMARY}, verify_all_reduce={"state": "succeeded", "last_metrics": LINE})
        | {"ansible_facts": {"gaudi_fabric": {"provider": "gaudi_ethernet"}}}
    )
    assert row == {
        "node": "n1",
        "verdict": "ok",
        "reason": None,
        "restart": [],
        "release": "1.24.1",
        "driver": "1.24.1-b336d5e",
        "cards": "8/8",
        "firmware": "1.22.0-fw-61.3.2-sec-3",
        "°C": 38,
        "links": "168/168 + 0/24",
        "pytorch": "2.11.0",
        "fabric": "gaudi_ethernet",
        "all-reduce": "16 ranks, 51.2 GB/s",
    }


def measured(state: str, reason: str, **speeds: float):
    rows = [{"provider": name, "sizes": [{"busbw_gb_per_s": speed}]} for name, speed in speeds.items()]
    return {"gaudi_fabric_benchmark_result": {"nodes": {"n1": {"state": state, "reason": reason, "rows": rows}}}}


def test_a_measured_network_is_told_with_the_one_beside_it():
    fabric = {"ansible_facts": {"gaudi_fabric": {"provider": "roce"}}}
    sound = node(verify={"summary": SUMMARY}) | fabric
    row = verdict_row(sound | measured("slower", "ethernet is faster.", roce=9.5, ethernet=11.25))
    assert (row["verdict"], row["fabric"]) == ("ok", "roce 9.5 GB/s, ethernet 11.2 GB/s")
    assert row["reason"] == "n1: ethernet is faster."
    assert verdict_row(sound | measured("not measured", "why", ethernet=1.5))["fabric"] == "roce, ethernet 1.5 GB/s"


def test_a_network_that_did_not_carry_the_sum_is_what_failed():
    row = verdict_row(node(flags={}) | measured("not ok", "its ranks on n1 are failed."))
    assert (row["verdict"], row["reason"]) == ("FAILED in the fabric", "n1: its ranks on n1 are failed.")


def test_only_the_node_of_rank_0_has_the_bandwidth():
    row = verdict_row(node(verify={"summary": SUMMARY}, verify_all_reduce={"state": "succeeded", "last_metrics": None}))
    assert row["all-reduce"] == "succeeded"


def test_the_first_layer_that_failed_is_named_with_its_sentence():
    row = verdict_row(node(preflight={}, driver={"failed": True, "msg": "DKMS could not build."}))
    assert (row["verdict"], row["reason"]) == ("FAILED in driver", "n1: DKMS could not build.")


def test_a_failed_verification_fails_although_it_has_a_summary():
    row = verdict_row(
        node(verify={"failed": True, "msg": "7 of 8.", "summary": {**SUMMARY, "ok": False, "problems": 1}})
    )
    assert row["verdict"] == "FAILED in verify"
    assert row["cards"] == "8/8"


def test_a_node_that_stopped_between_two_results_is_told_from_the_last_one():
    assert verdict_row(node(preflight={}, host={}))["verdict"] == "FAILED after host"


def test_a_node_that_nobody_reached_has_a_line():
    row = verdict_row(node())
    assert (row["verdict"], row["cards"], row["links"]) == ("FAILED before preflight", None, None)


def test_check_mode_tells_what_is_missing_without_calling_it_a_failure():
    row = verdict_row(node(verify={"summary": {**SUMMARY, "ok": False, "problems": 3}}))
    assert row["verdict"] == "not ok: 3 checks"


def test_check_mode_calls_a_node_without_a_driver_not_installed_yet():
    virgin = SUMMARY | {"ok": False, "problems": 3, "driver": None}
    assert verdict_row(node(verify={"summary": virgin}))["verdict"] == "not installed yet"


def test_an_all_reduce_that_did_not_succeed_is_a_failure():
    row = verdict_row(node(verify={"summary": SUMMARY}, verify_all_reduce={"state": "failed"}))
    assert (row["verdict"], row["all-reduce"]) == ("FAILED in all-reduce", "failed")


def test_an_all_reduce_whose_time_was_over_speaks_against_nobody_and_is_no_ok():
    row = verdict_row(node(verify={"summary": SUMMARY}, verify_all_reduce={"state": "running"}))
    assert (row["verdict"], row["all-reduce"]) == ("inconclusive", "running")
    assert "had not finished when the all-reduce timed out" in row["reason"]


def test_a_network_whose_measurement_was_over_its_time_is_no_ok_either():
    late = {"provider": "ethernet", "sizes": [], "why": "its ranks had not ended", "late": True}
    of_it = {"state": "not measured", "chosen": "ethernet", "reason": "the all-reduce over ethernet: …", "rows": [late]}
    host = node(verify={"summary": SUMMARY}) | {"gaudi_fabric_benchmark_result": {"nodes": {"n1": of_it}}}
    assert verdict_row(host)["verdict"] == "inconclusive"
    of_it["chosen"] = "roce"
    assert verdict_row(host)["verdict"] == "ok"


def test_a_node_of_which_programs_had_not_ended_is_no_failure():
    late = {"name": "hl-smi", "ok": False, "unknown": True}
    found = {"failed": True, "msg": "It is unknown whether this node is fit: hl-smi: …", "checks": [late]}
    assert verdict_row(node(verify=found))["verdict"] == "inconclusive"
    found["checks"].append({"name": "cards", "ok": False, "unknown": False})
    assert verdict_row(node(verify=found))["verdict"] == "FAILED in verify"


REASON = "the running kernel was started without iommu=pt, which GRUB passes from the next start on"


def test_a_restart_that_is_due_is_in_the_verdict_with_the_command():
    due = SUMMARY | {"restart_reasons": [REASON]}
    row = verdict_row(node(verify={"summary": due}))
    assert (row["verdict"], row["restart"]) == ("ok, restart needed", [REASON])
    assert row["reason"] == (
        f"n1: restart required before jobs run on it: {REASON}; restart it "
        "(`ansible n1 -i INVENTORY --become -m ansible.builtin.reboot`), then run verify.yml."
    )
    both = verdict_row(node(verify={"summary": due}) | measured("slower", "ethernet is faster.", roce=9.5))
    assert both["reason"] == f"{row['reason']} ethernet is faster."


def test_what_failed_comes_before_a_restart():
    due = SUMMARY | {"restart_reasons": [REASON], "ok": False, "problems": 2}
    assert verdict_row(node(verify={"summary": due}))["verdict"] == "not ok: 2 checks"
