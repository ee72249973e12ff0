# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes are measured together and over what, what is run on them, and what it means for each."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.nodes import measured_nodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.pairs import mixed, pairs_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.rounds import NETWORKS, Settings
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.verdict import NodeVerdict
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import Collectives
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import JOB, LOOK, Ranks

MIB = 1 << 20
SETTINGS = Settings(Collectives([MIB, 4 * MIB], Ranks("hpu", 8, 29520, 60, {"user": "gaudi"})), again=False)
PORTS, HOST = "gaudi_ethernet", "infiniband"


def look(provider: str = PORTS, usable: tuple[str, ...] = (PORTS, HOST), **more: Any) -> dict[str, Any]:
    """What a node answers that can use these networks."""
    networks = [
        {"provider": name, "usable": name in usable, "interface": "", "reason": "" if name in usable else "it has none"}
        for name in (PORTS, HOST, "roce", "efa", "ethernet")
    ]
    return {
        "requested": "auto",
        "provider": provider,
        "reason": "it was found",
        "networks": networks,
        "cards": 8,
        "links": 24,
        "library": "0.1.0",
        "measurement": {},
        **more,
    }


class Cluster:
    """Nodes whose all-reduce over a network has so many GB/s; None: it does not end well there."""

    def __init__(self, speed: Mapping[str, float | None], deaf: tuple[str, ...] = ()) -> None:
        self.speed, self.deaf = speed, deaf
        self.begun: list[dict[str, Any]] = []
        self.stopped: list[str] = []
        self.kept: dict[str, Any] = {}

    def ask(self, module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {node: self._answer(module, node, copy.deepcopy(dict(one))) for node, one in arguments.items()}

    def _answer(self, module: str, node: str, options: dict[str, Any]) -> dict[str, Any]:
        if node in self.deaf:
            return {"unreachable": True, "msg": "No route to host"}
        if module == NETWORKS:
            self.kept[node] = options["measurement"]
            return {}
        if module == JOB:
            if options.get("state") == "stopped":
                self.stopped.append(node)
            else:
                self.begun.append(options)
            return {"state": "running"}
        assert module == LOOK
        if options["timeout"] == 0:
            return {"state": "running"}
        speed = self.speed[options["name"].removeprefix("fabric-").replace("-", "_")]
        if speed is None:
            return {"state": "failed", "failure": {"message": "rank 3 lost its peer"}}
        lines = [
            {"kind": "collective", "bytes": size, "seconds": 0.1, "busbw_gb_per_s": speed, "world_size": 16}
            for size in SETTINGS.collectives.sizes
        ]
        return {"state": "succeeded", "metrics": lines}


def measured(
    cluster: Cluster, looks: Mapping[str, dict[str, Any]], settings: Settings = SETTINGS, **more: Any
) -> dict[str, NodeVerdict]:
    addresses = {node: f"192.0.2.{number}" for number, node in enumerate(looks, start=1)}
    return measured_nodes(looks, more.pop("silent", {}), addresses, settings, 0.05, cluster.ask, lambda _line: None)


def test_two_nodes_are_measured_over_their_network_and_over_the_next_that_both_have() -> None:
    cluster = Cluster({PORTS: 70.0, HOST: 20.0})
    found = measured(cluster, {"a": look(), "b": look(usable=(PORTS, HOST, "ethernet"))})
    assert {node: one.state for node, one in found.items()} == {"a": "ok", "b": "ok"}
    assert [(row["provider"], row["sizes"][-1]["busbw_gb_per_s"]) for row in found["a"].rows] == [
        (PORTS, 70.0),
        (HOST, 20.0),
    ]
    assert (found["a"].partner, found["b"].partner, found["a"].flags) == ("b", "a", {})
    over_ports, over_host = cluster.begun[0], cluster.begun[2]
    assert over_ports["hosts"] == ["a", "b"]
    assert over_ports["environment"] == {}
    assert over_ports["command"][-3:] == ["--bytes", str(MIB), str(4 * MIB)]
    # The library takes the cards' ports by itself, so the host's card has to be asked for.
    assert over_host["environment"]["HCCL_OVER_OFI"] == over_host["environment"]["HCCL_GAUDI_DIRECT"] == "1"


def test_a_faster_network_is_told_with_the_options_that_choose_it() -> None:
    found = measured(Cluster({PORTS: 9.0, HOST: 20.0}), {"a": look(), "b": look()})["b"]
    assert (found.state, found.fastest) == ("slower", HOST)
    assert "infiniband carried 20 GB/s where gaudi_ethernet, which is chosen, carried 9" in found.reason
    assert "set gaudi_fabric_provider: infiniband, and gaudi_flags_overrides: {RDMAV_FORK_SAFE: 1" in found.reason


def test_what_is_faster_by_less_than_the_margin_is_not_told() -> None:
    found = measured(Cluster({PORTS: 20.0, HOST: 20.5}), {"a": look(), "b": look()})["a"]
    assert (found.state, found.fastest, found.reason) == ("ok", PORTS, "")


@pytest.mark.parametrize(
    ("efa", "tcp", "state", "words"),
    [
        (40.0, 4.0, "ok", ""),
        (4.1, 4.0, "slower", "efa, which is chosen, carried 4.1 GB/s, and plain TCP on the same nodes 4: HCCL gains"),
        (4.0, 4.1, "slower", "most likely does not use it"),
        (3.0, 4.0, "slower", "ethernet carried 4 GB/s where efa, which is chosen, carried 3"),
        (4.0, None, "ok", ""),
        (None, 4.0, "not ok", "the all-reduce over efa failed"),
    ],
)
def test_efa_is_judged_by_what_it_carries_more_than_plain_tcp(
    efa: float | None, tcp: float | None, state: str, words: str
) -> None:
    cluster = Cluster({"efa": efa, "ethernet": tcp})
    found = measured(cluster, {node: look("efa", ("efa", "ethernet")) for node in ("a", "b")})["b"]
    assert found.state == state and words in found.reason, found.reason
    # The library chooses between both by itself, so that TCP has to be asked for.
    flags = {job["name"]: job["environment"].get("FI_PROVIDER") for job in cluster.begun}
    assert flags == {"fabric-efa": None, "fabric-ethernet": "tcp"}


def test_without_efa_plain_tcp_is_what_the_library_takes_by_itself() -> None:
    cluster = Cluster({HOST: 20.0, "ethernet": 4.0})
    measured(cluster, {node: look(HOST, (HOST, "ethernet")) for node in ("a", "b")})
    assert all("FI_PROVIDER" not in job["environment"] for job in cluster.begun)


def test_what_is_known_is_not_measured_again_until_something_is_another() -> None:
    looks = {"a": look(), "b": look()}
    first = Cluster({PORTS: 70.0, HOST: 20.0})
    measured(first, looks)
    kept = {node: {**one, "measurement": first.kept[node]} for node, one in looks.items()}
    second = Cluster({})
    found = measured(second, kept)
    assert second.begun == []
    assert (found["a"].cached, found["a"].state) == (True, "ok")
    for changed in ({"links": 23}, {"library": "0.2.0"}, {"measurement": {}}, {"measurement": {"key": "x", "rows": 3}}):
        again = Cluster({PORTS: 70.0, HOST: 20.0})
        measured(again, {"a": kept["a"], "b": {**kept["b"], **changed}})
        assert len(again.begun) == 4, changed


def test_a_kept_measurement_that_no_node_of_ours_would_keep_is_measured_again() -> None:
    looks = {"a": look(), "b": look()}
    first = Cluster({PORTS: 70.0, HOST: 20.0})
    measured(first, looks)
    hostile = {**first.kept["a"], "rows": [{"provider": "{{ lookup('pipe', 'id') }}"}]}
    again = Cluster({PORTS: 70.0, HOST: 20.0})
    measured(again, {"a": look(measurement=hostile), "b": look(measurement=first.kept["b"])})
    assert len(again.begun) == 4


def test_of_an_odd_number_the_last_is_measured_with_the_first_afterwards() -> None:
    looks = {node: look(usable=(PORTS,)) for node in "abc"}
    cluster = Cluster({PORTS: 70.0})
    found = measured(cluster, looks)
    assert [(one["host"], one["hosts"]) for one in cluster.begun] == [
        ("a", ["a", "b"]),
        ("b", ["a", "b"]),
        ("c", ["c", "a"]),
        ("a", ["c", "a"]),
    ]
    assert (found["c"].partner, found["a"].partner) == ("a", "b")
    kept = {node: {**looks[node], "measurement": cluster.kept[node]} for node in looks}
    second = Cluster({})
    measured(second, kept)
    assert second.begun == []


def test_an_all_reduce_that_fails_is_told_of_both_and_is_not_kept() -> None:
    cluster = Cluster({PORTS: None, HOST: 20.0})
    found = measured(cluster, {"a": look(), "b": look()})
    assert {one.state for one in found.values()} == {"not ok"}
    assert (
        "its ranks on a are failed: rank 3 lost its peer; see the log of job fabric-gaudi-ethernet" in found["b"].reason
    )
    assert cluster.kept == {}


def test_ranks_whose_partner_did_not_start_are_stopped_and_other_pairs_go_on() -> None:
    cluster = Cluster({PORTS: 70.0, HOST: 20.0}, deaf=("b",))
    found = measured(cluster, {node: look(usable=(PORTS,)) for node in "abcd"})
    assert [found[node].state for node in "abcd"] == ["not measured", "not measured", "ok", "ok"]
    assert found["a"].reason == found["b"].reason == "ranks did not start on b: No route to host"
    assert cluster.stopped == ["a"]


def test_nodes_that_found_another_network_than_most_are_named_and_not_measured() -> None:
    looks = {"a": look(), "b": look(), "c": look("ethernet", ("ethernet",), reason="no port has a link")}
    cluster = Cluster({PORTS: 70.0, HOST: 20.0})
    found = measured(cluster, looks)
    assert [found[node].state for node in "abc"] == ["ok", "ok", "not ok"]
    assert "its network is ethernet (no port has a link)" in found["c"].reason
    assert "gaudi_ethernet on a, b; ethernet on c" in found["c"].reason


def test_where_nobody_is_the_majority_all_are_named() -> None:
    assert sorted(mixed({"a": look(), "b": look(HOST)})) == ["a", "b"]


def test_groups_for_which_the_operator_has_said_it_may_differ() -> None:
    looks = {
        "a": look(requested=PORTS),
        "x": look(HOST, requested=HOST),
        "b": look(requested=PORTS),
        "y": look(HOST, requested=HOST),
    }
    assert mixed(looks) == {}
    assert [pair.nodes for pair in pairs_of(looks)] == [("a", "b"), ("x", "y")]


@pytest.mark.parametrize(
    ("looks", "reason"),
    [
        ({"a": look(library=""), "b": look(library="")}, "the training stack is not there yet"),
        ({"a": look()}, "there is no second node of this network"),
        ({"a": look(usable=()), "b": look(usable=())}, "gaudi_ethernet cannot be measured on a: it has none."),
    ],
)
def test_what_cannot_be_measured_is_said_and_is_no_failure(looks: dict[str, Any], reason: str) -> None:
    cluster = Cluster({})
    found = measured(cluster, looks)
    assert {one.state for one in found.values()} == {"not measured"}
    assert all(reason in one.reason for one in found.values())
    assert cluster.begun == []


def test_a_node_without_an_answer_is_named() -> None:
    found = measured(Cluster({PORTS: 70.0, HOST: 1.0}), {"a": look(), "b": look()}, silent={"c": "it was not asked"})
    assert (found["c"].state, found["c"].reason) == ("not measured", "it was not asked")


def test_sockets_are_told_their_interface() -> None:
    networks = [{"provider": "ethernet", "usable": True, "interface": "eno1", "reason": ""}]
    looks = {node: look("ethernet", networks=networks) for node in "ab"}
    cluster = Cluster({"ethernet": 1.0})
    measured(cluster, looks)
    assert cluster.begun[0]["environment"] == {"GLOO_SOCKET_IFNAME": "eno1"}


class Late(Cluster):
    """Whose all-reduces over the networks ``late`` had not ended on ``nodes``; good ones took ``took`` seconds."""

    def __init__(
        self, late: Mapping[str, str], nodes: str = "abcdef", took: float = 5.0, gone: tuple[str, ...] = ()
    ) -> None:
        super().__init__({PORTS: 70.0, HOST: 20.0})
        self.late, self.nodes, self.took, self.gone = late, nodes, took, gone

    def _answer(self, module: str, node: str, options: dict[str, Any]) -> dict[str, Any]:
        answer = super()._answer(module, node, options)
        if module != LOOK:
            return answer
        if node in self.gone:
            return {"unreachable": True, "msg": "no answer within 720 s"}
        provider = options["name"].removeprefix("fabric-").replace("-", "_")
        if provider in self.late and node in self.nodes:
            done = dict.fromkeys(("started", "met", "measuring"), 8 if self.late[provider] == "measuring" else 0)
            return {"state": "running", "reached": done, "description": {"processes_per_node": 8}}
        return {**answer, "started": 100.0, "ended": 100.0 + self.took}


@pytest.mark.parametrize("stage", ["", "measuring"])
def test_two_nodes_whose_time_was_over_are_not_measured_and_no_fault_is_told(stage: str) -> None:
    found = measured(Late({PORTS: stage}), {node: look(usable=(PORTS,)) for node in "ab"})
    assert {one.state for one in found.values()} == {"not measured"}
    assert "had not ended when the " in found["a"].reason and "Run it again with a larger timeout" in found["a"].reason


def test_a_network_that_hangs_where_the_same_nodes_are_quick_over_another_is_not_ok() -> None:
    found = measured(Late({PORTS: "measuring"}), {node: look() for node in "ab"})
    assert {one.state for one in found.values()} == {"not ok"}
    # But where the other one took half of the time as well, nobody can tell.
    slow = measured(Late({PORTS: "measuring"}, took=30.0), {node: look() for node in "ab"})
    assert {one.state for one in slow.values()} == {"not measured"}


def test_a_pair_that_hangs_among_quick_ones_is_not_ok() -> None:
    cluster = Late({PORTS: "measuring"}, nodes="cd")
    found = measured(cluster, {node: look(usable=(PORTS,)) for node in "abcdef"})
    assert {node for node, one in found.items() if one.state == "not ok"} == {"c", "d"}
    assert {node for node, one in found.items() if one.state == "ok"} == {"a", "b", "e", "f"}
    assert {*cluster.kept} == {"a", "b", "e", "f"}


def test_a_node_that_answers_no_more_leaves_its_partner_without_blame() -> None:
    found = measured(Late({}, gone=("d",)), {node: look(usable=(PORTS,)) for node in "abcdef"})
    assert {found[node].state for node in "cd"} == {"not measured"}
    assert "d did not report how its ranks ended (no answer within 720 s)" in found["c"].reason
