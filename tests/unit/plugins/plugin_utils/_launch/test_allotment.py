# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a run takes on all of its nodes, by tables of what they offer, and what is asked of them then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import Allotment
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.allotment import Offer, chosen, offer_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.launch import LaunchedJob, launch

NAMES = {name: f"gaudi_training_{name}" for name in ("processes_per_node", "rendezvous_port")}
KEY = "a" * 64
USUAL = [29500, 29502, 29504]


def offered(*taken: int, before: tuple[int, ...] = (), who: str = "held by job a") -> dict[str, Any]:
    """What a node of eight cards answers."""
    return {
        "modules": list(range(8)),
        "taken": {str(module): who for module in taken},
        "together": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "board": "",
        "before": list(before),
    }


def answer(**offer: Any) -> dict[str, Any]:
    return {"state": "prepared", "clock_offset": 0.0, "offer": {"allotted": {}, **offer}}


def offers(**answers: Mapping[str, Any]) -> list[Offer]:
    return [offer_of(node, one) for node, one in answers.items()]


def test_all_nodes_take_the_same() -> None:
    found = chosen(offers(n1=answer(cards=offered(0)), n2=answer(cards=offered(1, 2))), [], 4, NAMES)
    assert found.allotment == Allotment((4, 5, 6, 7), 0)
    assert found.said == ["It takes modules 4 to 7 on each of its nodes."]


def test_those_of_before_are_taken_again() -> None:
    found = chosen(offers(n1=answer(cards=offered(before=(5, 6)))), [], 2, NAMES)
    assert (found.allotment.modules, found.said) == ((5, 6), ["It takes modules 5, 6 on n1."])


def test_without_anything_in_common_it_is_said_who_has_what() -> None:
    lists = offers(n1=answer(cards=offered(0, 1, 2, 3)), n2=answer(cards=offered(4, 5, 6, 7, who="held by job b")))
    with pytest.raises(GaudiError) as caught:
        chosen(lists, [], 4, NAMES)
    assert str(caught.value) == (
        "gaudi_training_processes_per_node is 4, and no module is free on all of n1, n2: on n1 modules 0 to 3 are held "
        "by job a; on n2 modules 4 to 7 are held by job b, and a job has the same modules on each of its nodes; stop "
        "what has them, or wait."
    )


def test_a_spare_that_has_not_the_same_is_left_out() -> None:
    lists = offers(n1=answer(cards=offered(4, 5, 6, 7)), n2=answer(cards=offered(0, 1)))
    found = chosen(lists, ["n2"], 4, NAMES)
    assert found.allotment.modules == (0, 1, 2, 3)
    assert found.left_out == {"n2": "modules 0 to 3, which the job takes on each node, are not all free there"}
    # Where one set suits it as well, that is taken.
    assert chosen(offers(n1=answer(cards=offered()), n2=answer(cards=offered(0, 1))), ["n2"], 4, NAMES).left_out == {}


def test_a_job_that_runs_goes_on_with_what_it_has() -> None:
    running = answer(allotted={"modules": [2, 3], "rendezvous_port": 29504})
    found = chosen(offers(n1=running, n2=answer(cards=offered(2), ports=USUAL)), [], 2, NAMES)
    assert (found.allotment, found.said) == (Allotment((2, 3), 29504), ())


def test_nothing_is_chosen_where_nothing_is_offered() -> None:
    assert chosen(offers(n1=answer(), n2={"state": "prepared"}), [], 8, NAMES).allotment == Allotment()


@pytest.mark.parametrize(
    ("first", "second", "port", "said"),
    [
        (USUAL, USUAL, 29500, []),
        (USUAL[1:], USUAL, 29502, ["It meets at port 29502 (and 29503), since job a has port 29500 on n1."]),
        (USUAL[1:], [29500, 29504], 29504, ["It meets at port 29504 (and 29505), since job a has port 29500 on n1."]),
    ],
)
def test_ports_are_free_on_all_nodes(first: list[int], second: list[int], port: int, said: list[str]) -> None:
    holder = "" if 29500 in first else "job a"
    found = chosen(offers(n1=answer(ports=first, port_holder=holder), n2=answer(ports=second)), [], 8, NAMES)
    assert (found.allotment, list(found.said)) == (Allotment((), port), said)


def test_without_a_port_in_common_one_has_to_be_given() -> None:
    with pytest.raises(GaudiError, match=r"^gaudi_training_rendezvous_port is 29500, which another job has, and none"):
        chosen(offers(n1=answer(ports=[29502]), n2=answer(ports=[29504])), [], 8, NAMES)


@pytest.mark.parametrize(
    "offer",
    [
        {"cards": {"modules": "all"}},
        {"cards": {**offered(), "together": [[-1]]}},
        {"ports": ["29500"]},
        {"ports": [70000]},
        {"allotted": {"modules": [True]}},
        "none",
    ],
)
def test_what_no_node_of_ours_says_is_not_used(offer: Any) -> None:
    with pytest.raises(GaudiError, match="n1 answered training_job with an invalid result"):
        offer_of("n1", {"offer": offer})


def test_who_holds_a_card_is_no_template_and_nothing_that_a_terminal_obeys() -> None:
    with pytest.raises(GaudiError) as caught:
        chosen(offers(n1=answer(cards=offered(*range(8), who="held by {{ x }}\x1b[2J"))), [], 1, NAMES)
    assert "{{" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


class Nodes:
    """What nodes answer, one list of answers for each question and node, of which the last one stays."""

    def __init__(self, prepared: Mapping[str, Any], started: Callable[[str, int], Mapping[str, Any]]) -> None:
        self.prepared, self.started = prepared, started
        self.asked: list[tuple[str, str, Mapping[str, Any]]] = []

    def __call__(self, _module: str, arguments: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for node, options in arguments.items():
            question = str(options["state"])
            self.asked.append((question, node, options))
            if question == "prepared":
                found[node] = self.prepared[node]
            elif question == "started":
                found[node] = {"run": KEY, **self.started(node, len(self.of("started")))}
            else:
                found[node] = {"state": "stopped"}
        return found

    def of(self, question: str) -> list[tuple[str, Any]]:
        return [(node, options.get("allotted")) for asked, node, options in self.asked if asked == question]


def begin(nodes: Nodes, check_mode: bool = False) -> tuple[Any, list[str]]:
    job = LaunchedJob("llama", ["n1", "n2"], {"processes_per_node": "4"}, supervision={}, prefix="gaudi_training_")
    said: list[str] = []
    reported = launch(
        job, nodes, said.append, left_out={}, check_mode=check_mode, clock=lambda: 7.0, secret=lambda _bytes: KEY
    )
    return reported, said


def running(_node: str, _count: int) -> Mapping[str, Any]:
    return {"state": "running"}


def test_each_node_is_started_with_what_was_chosen_over_all() -> None:
    nodes = Nodes({"n1": answer(cards=offered(0)), "n2": answer(cards=offered(), ports=USUAL)}, running)
    _reported, said = begin(nodes)
    allotted = {"modules": [4, 5, 6, 7], "rendezvous_port": 29500}
    assert nodes.of("started") == [("n1", allotted), ("n2", allotted)]
    assert "It takes modules 4 to 7 on each of its nodes." in said


def test_nothing_is_begun_where_nothing_is_in_common() -> None:
    nodes = Nodes({"n1": answer(cards=offered(0, 1, 2, 3)), "n2": answer(cards=offered(4, 5, 6, 7))}, running)
    with pytest.raises(GaudiError, match=r"^Job llama was not started. gaudi_training_processes_per_node is 4, and no"):
        begin(nodes)
    assert nodes.of("started") == []


def test_what_another_launch_has_taken_meanwhile_is_chosen_anew() -> None:
    def overtaken(node: str, count: int) -> Mapping[str, Any]:
        lost = {"failed": True, "msg": "module 4 is held by job a.", "taken": True}
        return lost if (node, count) == ("n2", 2) else {"state": "running"}

    nodes = Nodes({"n1": answer(cards=offered()), "n2": answer(cards=offered())}, overtaken)
    reported, said = begin(nodes)
    assert said.count("Another launch has taken what was chosen; choosing again.") == 1
    # What the first attempt had begun was ended before.
    assert [question for question, _node, _options in nodes.asked] == [
        *["prepared"] * 2,
        *["started"] * 2,
        *["stopped"] * 2,
        *["prepared"] * 2,
        *["started"] * 2,
    ]
    assert reported["start"] == ["n1", "n2"]


def test_it_is_not_chosen_for_ever() -> None:
    always = {"failed": True, "msg": "module 4 is held by job a.", "taken": True}
    nodes = Nodes({"n1": answer(), "n2": answer()}, lambda _node, _count: always)
    with pytest.raises(GaudiError, match=r"^Job llama was not started. n1, n2: module 4 is held by job a.$"):
        begin(nodes)
    assert len(nodes.of("prepared")) == 6
