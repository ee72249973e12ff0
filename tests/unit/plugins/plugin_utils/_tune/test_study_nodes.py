# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_nodes import STORAGE, lost, tune_nodes


def host(name: str, *, has_study: bool = False, reported: str = "", **registered) -> dict:
    return {
        "inventory_hostname": name,
        "ansible_host": f"10.0.0.{name[-1]}",
        "__gaudi_tune_kept": {"stat": {"exists": has_study}},
        "__gaudi_tune_before": {"description": {"environment": {STORAGE: reported}} if reported else {}},
        **registered,
    }


def test_the_first_node_that_answers_keeps_a_new_study():
    hosts = [{"inventory_hostname": "n1"}, host("n2"), host("n3")]
    assert tune_nodes(hosts, ["n2", "n3"]).keeper == "n2"


def test_a_study_stays_where_it_is():
    assert tune_nodes([host("n1"), host("n2", has_study=True)], ["n1", "n2"]).keeper == "n2"


def test_a_keeper_that_does_not_answer_is_known_by_what_the_others_were_told():
    hosts = [{"inventory_hostname": "n1", "ansible_host": "10.0.0.1"}, host("n2", reported="grpc://10.0.0.1:29510")]
    assert tune_nodes(hosts, ["n2"]).lost_keeper == "n1"
    assert tune_nodes(hosts, ["n1", "n2"]).lost_keeper == ""
    # Also where it is not one of the study's nodes this time.
    assert tune_nodes(hosts[1:], ["n2"]).lost_keeper == "10.0.0.1"


def test_a_study_that_is_there_or_in_a_storage_of_the_sites_own_has_lost_no_keeper():
    moved = host("n2", has_study=True, reported="grpc://10.0.0.1:29510")
    assert tune_nodes([moved], ["n2"]).lost_keeper == ""
    assert tune_nodes([host("n2", reported="postgresql://db/optuna")], ["n2"]).lost_keeper == ""


def test_no_node_at_all_is_no_keeper():
    assert tune_nodes([host("n1")], []).keeper == ""


def test_each_node_that_did_not_work_is_named_with_its_reason():
    hosts = [
        host("n1", __gaudi_tune_info={"state": "succeeded"}),
        host("n2", __gaudi_tune_info={"state": "failed", "failure": {"message": "there is no text"}}),
        host("n3", __gaudi_tune_info={"unreachable": True}),
        host("n4", __gaudi_tune_packages={"failed": True, "msg": "pip cannot install"}),
        host("n5", __gaudi_tune_info={"state": "stopped"}),
        host("n6"),
    ]
    absent = tune_nodes(hosts, ["n1", "n2", "n3", "n5"]).absent
    assert absent["n2"] == "there is no text"
    assert absent["n4"] == "pip cannot install"
    assert absent["n3"] == absent["n6"] == "it did not respond, or failed before it could begin"
    assert "was stopped" in absent["n5"]
    assert "n1" not in absent


def test_a_lost_keeper_is_one_sentence_with_the_remedy():
    assert lost("llama", "") == ""
    assert lost("llama", "n1") == (
        "Study llama is stored on n1, which did not respond, or failed before; bring that node back, or "
        "choose another gaudi_tune_name."
    )
