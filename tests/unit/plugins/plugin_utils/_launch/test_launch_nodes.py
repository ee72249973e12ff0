# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.launch_nodes import launch_nodes

HOSTS, SPARES = ["n1", "n2", "n3"], ["n4"]
WELL = {"state": "prepared"}
AWAY = {"unreachable": True, "msg": "No route to host"}
SICK = {"failed": False, "msg": "n2 cannot take part: status: found 0000:33:00.0 lost."}


def answers(**changes):
    return {**dict.fromkeys((*HOSTS, *SPARES), WELL), **changes}


def test_all_are_there():
    everybody = [*HOSTS, *SPARES]
    assert launch_nodes(HOSTS, answers(), SPARES) == {
        "start": everybody,
        "starting": everybody,
        "joining": [],
        "left_out": {},
        "refusal": "",
    }


@pytest.mark.parametrize(("answer", "said"), [(AWAY, "No route to host"), (SICK, "found 0000:33:00.0 lost")])
def test_a_sick_host_is_left_out_where_a_spare_is_there(answer, said):
    chosen = launch_nodes(HOSTS, answers(n2=answer), SPARES)
    assert (chosen["start"], chosen["refusal"]) == (["n1", "n3", "n4"], "")
    assert said in chosen["left_out"]["n2"]


def test_a_sick_spare_stops_nothing():
    chosen = launch_nodes(HOSTS, answers(n4=AWAY), SPARES)
    assert (chosen["start"], list(chosen["left_out"]), chosen["refusal"]) == (HOSTS, ["n4"], "")


def test_without_a_spare_it_is_refused_and_named():
    chosen = launch_nodes(HOSTS, {"n1": WELL, "n2": AWAY, "n3": WELL})
    assert chosen["refusal"] == "n2: it does not answer: No route to host."


def test_a_node_in_quarantine_is_never_left_out_in_silence():
    """Ranks and global batch are those of all hosts, so a launch shrinks only where the job says that it may."""
    marked = {"failed": True, "msg": "it has been in quarantine since 2026-11-25T03:12:44Z: card 3; return it."}
    refused = launch_nodes(HOSTS, {"n1": WELL, "n2": marked, "n3": WELL})
    assert refused["refusal"] == "n2: it has been in quarantine since 2026-11-25T03:12:44Z: card 3; return it."
    for may in ({"spares": SPARES}, {"min_nodes": 2}):
        chosen = launch_nodes(HOSTS, answers(n2=marked), **may)
        assert chosen["refusal"] == ""
        assert "it has been in quarantine since" in chosen["left_out"]["n2"]


def test_too_few_spares_are_counted():
    chosen = launch_nodes(HOSTS, answers(n2=AWAY, n4=AWAY), SPARES)
    assert chosen["refusal"] == (
        "n2, n4: it does not answer: No route to host. Without, 2 node(s) are left where 3 are needed."
    )


def test_fewer_may_do():
    assert launch_nodes(HOSTS, {"n1": WELL, "n2": AWAY, "n3": WELL}, min_nodes=2)["refusal"] == ""


def test_spares_cannot_replace_most_hosts():
    """Supervisors go on without lost hosts only where they are sure that those do not run the job by themselves."""
    chosen = launch_nodes(HOSTS, {**answers(n1=AWAY, n2=AWAY), "n5": WELL}, [*SPARES, "n5"])
    assert "of 3 hosts 1 are left, not more than half" in chosen["refusal"]


@pytest.mark.parametrize(("away", "enough"), [("n1", False), ("n2", True)])
def test_of_two_halves_the_one_with_the_first_host_goes_on(away, enough):
    chosen = launch_nodes(["n1", "n2"], {"n1": WELL, "n2": WELL, away: AWAY}, min_nodes=1)
    assert (chosen["refusal"] == "") is enough


def test_what_is_wrong_everywhere_is_said_once():
    wrong = {"msg": "rendezvous_port is 0; give a port from 1 to 65535."}
    chosen = launch_nodes(HOSTS, dict.fromkeys(HOSTS, wrong))
    assert chosen["refusal"] == "n1, n2, n3: rendezvous_port is 0; give a port from 1 to 65535."


def test_names_do_not_hide_what_hundreds_of_nodes_say():
    hosts = [f"n{number}" for number in range(128)]
    same = {host: {"failed": True, "msg": "rendezvous_port is 0; give a port from 1 to 65535."} for host in hosts}
    assert launch_nodes(hosts, same)["refusal"] == "All 128 nodes: rendezvous_port is 0; give a port from 1 to 65535."
    but_one = {**same, "n0": {"state": "prepared"}}
    assert "n1, n2, " in str(launch_nodes(hosts, but_one)["refusal"])


def test_the_node_that_knows_the_job_comes_first():
    chosen = launch_nodes(HOSTS, answers(n3={"state": "running"}, n2={"state": "succeeded"}), SPARES)
    assert (chosen["start"], chosen["starting"]) == (["n3", "n2", "n1", "n4"], ["n3"])


def test_a_job_that_has_ended_well_somewhere_is_begun_nowhere_else():
    chosen = launch_nodes(HOSTS, answers(n2={"state": "succeeded", "run": "a1"}), SPARES)
    assert (chosen["starting"], chosen["joining"]) == (["n2"], [])


def test_who_has_not_begun_or_is_in_the_run_of_another_launch_joins_the_first():
    ours, theirs = {"state": "running", "run": "a1"}, {"state": "running", "run": "b2"}
    chosen = launch_nodes(HOSTS, {"n1": ours, "n2": theirs, "n3": {"skipped": True}, "n4": ours}, SPARES)
    assert (chosen["start"][0], chosen["joining"]) == ("n1", ["n2", "n3"])


def test_nobody_joins_where_all_are_in_one_run():
    ours = {"state": "running", "run": "a1"}
    assert launch_nodes(HOSTS, {"n1": ours, "n2": ours, "n3": ours})["joining"] == []


def test_what_was_left_out_before_stays_so_and_a_node_with_nothing_to_do_is_well():
    chosen = launch_nodes(HOSTS, {"n1": {"skipped": True}, "n3": WELL, "n4": WELL}, SPARES, 0, {"n2": "away"})
    assert (chosen["start"], chosen["left_out"]) == (["n1", "n3", "n4"], {"n2": "away"})


@pytest.mark.parametrize("away", ["n1", "n2", "w"])
def test_with_a_witness_two_hosts_begin_without_any_one_node(away):
    chosen = launch_nodes(["n1", "n2"], {"n1": WELL, "n2": WELL, "w": WELL, away: AWAY}, min_nodes=1, witness="w")
    assert (chosen["start"], chosen["refusal"]) == ([node for node in ("n1", "n2", "w") if node != away], "")


def test_without_two_of_three_votes_nothing_begins():
    chosen = launch_nodes(["n1", "n2"], {"n1": AWAY, "n2": WELL, "w": AWAY}, min_nodes=1, witness="w")
    assert chosen["refusal"].endswith("Without, of 2 hosts and the witness 1 are left, not more than half.")


def test_a_witness_takes_nobodys_place():
    chosen = launch_nodes(["n1", "n2"], {"n1": WELL, "n2": AWAY, "w": WELL}, min_nodes=2, witness="w")
    assert chosen["refusal"].endswith("Without, 1 node(s) are left where 2 are needed.")
    # It may be all that is left of a job that runs, and then has the secret of the run.
    left = launch_nodes(["n1", "n2"], {"n1": WELL, "n2": WELL, "w": {"state": "running"}}, min_nodes=1, witness="w")
    assert (left["start"], left["starting"]) == (["w", "n1", "n2"], ["w"])


def test_nodes_of_two_versions_are_refused_and_named():
    old, new = ({"state": "prepared", "library": version} for version in ("0.1.0", "0.2.0+site1"))
    chosen = launch_nodes(HOSTS, {"n1": new, "n2": old, "n3": new, "n4": old}, SPARES)
    assert chosen["refusal"] == (
        "The nodes have different versions of gaudi3_scale: 0.2.0+site1 on n1 and n3, 0.1.0 on n2 and n4; run "
        "playbooks/venv.yml on all of them."
    )
    # One that is left out does not count, nor one on which the job has ended well, or of which nobody knows.
    assert launch_nodes(HOSTS, {"n1": new, "n2": AWAY, "n3": new, "n4": WELL}, SPARES)["refusal"] == ""
    assert launch_nodes(HOSTS, {"n1": new, "n2": {**old, "state": "succeeded"}, "n3": new})["refusal"] == ""


def test_a_job_that_runs_is_joined_by_nodes_of_its_own_version_alone():
    running, other = {"state": "running", "run": "a1", "library": "0.1.0"}, {"state": "prepared", "library": "0.2.0"}
    chosen = launch_nodes(HOSTS, {"n1": running, "n2": running, "n3": other})
    assert "0.1.0 on n1 and n2, 0.2.0 on n3" in chosen["refusal"]
