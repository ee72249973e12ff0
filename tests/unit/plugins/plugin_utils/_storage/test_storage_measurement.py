# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Storage over all nodes: phases, who fails in one, what a training needs against what there is, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import exit_code
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.job_rate import tokens_per_second
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.needs import Needs, answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.phases import Rates, Settings, measured

SETTINGS = Settings("/mnt/data", 8, 1 << 30, 1 << 20, 1 << 17, 15, "gaudi", True)
RATES = {"write": 100e6, "read": 400e6, "random_read": 200e6}


class Nodes:
    """Nodes that write ``written`` bytes of each file; ``bad`` fails in a phase, or answers what none would."""

    def __init__(self, bad: Mapping[str, tuple[str, Mapping[str, Any]]] | None = None) -> None:
        self.bad = bad or {}
        self.asked: list[tuple[str, dict[str, Mapping[str, Any]]]] = []

    def ask(self, _module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        phase = next(iter(arguments.values()))["phase"]
        self.asked.append((phase, dict(arguments)))
        if phase == "remove":
            return {host: {"changed": False} for host in arguments}
        return {host: self._answer(host, phase) for host in arguments}

    def _answer(self, host: str, phase: str) -> Mapping[str, Any]:
        where, what = self.bad.get(host, ("", {}))
        good = {"bytes_per_s": RATES[phase], "iops": 10.0, "p99_s": 0.01, "seconds": 15.0, "written": 5 << 20}
        return what if where == phase else {**good, "file_system": "nfs", "changed": False}


def rates(**bad: tuple[str, Mapping[str, Any]]) -> tuple[Rates, Nodes]:
    nodes = Nodes(bad)
    return measured(["n1", "n2", "n3"], SETTINGS, nodes.ask, lambda _line: None), nodes


def test_each_phase_is_asked_of_all_at_once_and_reads_what_was_written() -> None:
    found, nodes = rates()
    assert [phase for phase, _hosts in nodes.asked] == ["write", "read", "random_read", "remove"]
    assert all(set(hosts) == {"n1", "n2", "n3"} for _phase, hosts in nodes.asked)
    sizes = [hosts["n1"].get("size") for _phase, hosts in nodes.asked]
    assert sizes == [1 << 30, 5 << 20, 5 << 20, None]
    assert nodes.asked[2][1]["n1"]["block"] == 1 << 17
    assert found.total("random_read") == 600e6


def test_who_fails_is_named_and_the_others_go_on_without_it() -> None:
    lost = {"unreachable": True, "msg": "timed out"}
    numbers = {"iops": 1, "p99_s": 1, "seconds": 1, "written": 1, "file_system": "nfs"}
    lying = {**numbers, "bytes_per_s": "{{ lookup('pipe', 'id') }}"}
    found, nodes = rates(n2=("read", lost), n3=("write", lying))
    assert found.failed["n2"] == "timed out" and "bytes_per_s is" in found.failed["n3"]
    assert [set(hosts) for _phase, hosts in nodes.asked] == [{"n1", "n2", "n3"}, {"n1", "n2"}, {"n1"}, {"n1"}]
    # What is judged is what all that count have done together.
    assert found.total("write") == 100e6


def test_files_are_removed_whatever_happens() -> None:
    nodes = Nodes()

    def broken(line: str) -> None:
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt):
        measured(["n1"], SETTINGS, nodes.ask, broken)
    assert nodes.asked[-1][0] == "remove"


def test_without_a_need_it_says_what_the_storage_would_do() -> None:
    said = answer(rates()[0], Needs(parameters=70e9))
    assert said.sentences == (
        "feeds up to 150,000,000 tokens/s of 4 bytes per token",
        "a checkpoint of 70,000,000,000 parameters (840 GB) is written in 2,800 s",
    )
    assert said.missed == ()


def test_a_need_that_is_met_and_one_that_is_not() -> None:
    met = answer(rates()[0], Needs(tokens_per_second=1e8, parameters=1e9, checkpoint_interval=60))
    assert met.missed == () and "1.5 times over" in met.sentences[0]
    assert met.figures["checkpoint_seconds"] == pytest.approx(40)
    missed = answer(rates()[0], Needs(tokens_per_second=3e8, parameters=1e9, checkpoint_interval=30)).missed
    assert missed[0].endswith("150,000,000 can be read: cards would wait 50% of the time.")
    assert "takes 40 s, and the next one is due after 30 s" in missed[1]


def test_nothing_measured_says_nothing() -> None:
    assert answer(Rates({}, {"n1": "x"}), Needs(tokens_per_second=1)).sentences == ()


def test_the_rate_of_a_job_is_that_of_its_last_step() -> None:
    def ask(_module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        assert arguments["n1"] == {"name": "llama"}
        return {"n1": {"last_step": {}}, "n2": {"last_step": {"tokens_per_second": 5e5}}, "n3": {"unreachable": True}}

    assert tokens_per_second("llama", ["n1", "n2", "n3"], ask) == 5e5
    with pytest.raises(GaudiError, match="no node has a step of it with tokens/s"):
        tokens_per_second("llama", ["n1"], lambda _module, _arguments: {"n1": {"last_step": {}}})


def reported(found: Rates, needs: Needs) -> Made:
    said = answer(found, needs)
    result = {
        "rates": found.phases,
        "failed_nodes": found.failed,
        "needs": asdict(needs),
        "figures": said.figures,
        "says": list(said.sentences),
        "missed": list(said.missed),
    }
    hosts: dict[str, Any] = {host: {} for host in ("n1", "n2", "n3")}
    hosts["n1"]["gaudi_storage_measure_result"] = result
    return KINDS["measure_storage"].made(Asked(hosts, {}, False))


def test_the_table_has_each_node_and_all_together() -> None:
    made = reported(rates(n2=("write", {"failed": True, "msg": "no room"}))[0], Needs(tokens_per_second=1e6))
    rows = made.options["rows"]
    assert [row["node"] for row in rows] == ["n1", "n2", "n3", "together"]
    assert [row.get("write (MB/s)") for row in rows] == ["100", None, "100", "200"]
    assert (made.refusal, made.reasons) == ("", {"n2": "could not be measured: no room"})
    assert made.outcome["ok"] is False and exit_code(made.cases or []) == 2


def test_a_need_that_is_not_met_is_a_refusal() -> None:
    made = reported(rates()[0], Needs(tokens_per_second=1e12))
    assert made.refusal.startswith("Data: 1,000,000,000,000 tokens/s") and exit_code(made.cases or []) == 1
    assert exit_code(reported(rates()[0], Needs()).cases or []) == 0
