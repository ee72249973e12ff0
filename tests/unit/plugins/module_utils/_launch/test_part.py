# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs with part of a node, side by side: what each takes, keeps and refuses, on a node of eight simulated cards."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import (
    Allotment,
    SlurmOptions,
    SupervisionOptions,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.network import port_is_free
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import DEFAULT_PORT, Job, check, job_from
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import binding as job_binding
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import part as job_part
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import prepare, start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import stop
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job, free_port, job_on
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit

VISIBLE = "HABANA_VISIBLE_MODULES"


class Node:
    """A node with eight cards and the units of several jobs."""

    def __init__(self, place: Path, pci_id: str = "0x1060") -> None:
        self.place = place
        self.root = write_kernel(place / "kernel", pci_id=pci_id)
        self.units: dict[str, JobUnit] = {}
        self.hl_smi = HlSmi()

    def __call__(self, argv: Any, **more: Any) -> CommandResult:
        if argv[0] == "hl-smi":
            return self.hl_smi(argv, **more)
        name = next((word for word in argv if word.startswith("gaudi3-scale-job-")), "")
        if "*" in name:
            active = [unit.paths.unit for unit in self.units.values() if unit.active]
            return CommandResult(0, "\n".join(f"Id={unit}\nActiveState=active\n" for unit in active), "")
        known = self.units.get(name) or next(iter(self.units.values()))
        return known(argv, **more)

    def paths(self, name: str) -> JobPaths:
        place = self.place
        paths = JobPaths(name, str(place / "state"), str(place / "log"), str(place / "units"))
        self.units.setdefault(paths.unit, JobUnit(paths))
        return paths

    def job(self, name: str, ranks: int = 4, **changes: Any) -> Job:
        described = {"name": name, "processes_per_node": ranks, "device": "hpu", "hosts": ("n1",), **changes}
        return job_on(self.place, **described)

    def start(self, job: Job, **options: Any) -> dict[str, Any]:
        return start(job, self.paths(job.name), self, StartOptions(kernel_root=str(self.root), **options))

    def prepare(self, job: Job, **options: Any) -> dict[str, Any]:
        return prepare(job, self.paths(job.name), self, StartOptions(kernel_root=str(self.root), **options))

    def end(self, name: str, *how: str) -> None:
        self.units[self.paths(name).unit].end(*how)

    def environment(self, name: str) -> str:
        lines = Path(self.paths(name).environment).read_text().splitlines()
        return next((line for line in lines if line.startswith(VISIBLE)), "")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def refusal(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(GaudiError) as caught:
        call(*arguments, **named)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def taken(result: dict[str, Any]) -> list[int]:
    modules: list[int] = result["launch"]["modules"]
    return modules


def test_two_jobs_of_four_cards_run_side_by_side(node: Node) -> None:
    assert taken(node.start(node.job("a"))) == [0, 1, 2, 3]
    assert taken(node.start(node.job("b"))) == [4, 5, 6, 7]
    assert (node.environment("a"), node.environment("b")) == (f"{VISIBLE}=0,1,2,3", f"{VISIBLE}=4,5,6,7")
    # One ends, and the other goes on as it was; its half is another one's then.
    node.end("a", "exit-code", "exited", "1")
    assert node.units[node.paths("b").unit].active
    assert taken(node.start(node.job("c"))) == [0, 1, 2, 3]


def test_what_runs_is_found_unchanged_and_restarts_take_the_same(node: Node) -> None:
    node.start(node.job("other", 2))
    job = node.job("a", 2)
    assert taken(node.start(job)) == [2, 3]
    node.end("other")
    again = node.start(job)
    assert (again["changed"], taken(again)) == (False, [2, 3])
    assert taken(node.start(job, restart=True)) == [2, 3]
    node.end("a", "signal", "killed", "KILL")
    assert taken(node.start(job)) == [2, 3]
    node.end("a")
    finished = node.start(job)
    assert (finished["changed"], finished["state"], taken(finished)) == (False, "succeeded", [2, 3])


def test_cards_that_another_one_has_meanwhile_are_given_up(node: Node) -> None:
    node.start(node.job("a"))
    node.end("a", "exit-code", "exited", "1")
    node.start(node.job("b", modules=(1, 2), processes_per_node=2))
    assert taken(node.start(node.job("a"))) == [4, 5, 6, 7]


def test_the_job_s_page_knows_its_cards(node: Node) -> None:
    node.start(node.job("a"))
    told = report(node.paths("a"), node)
    assert (told["modules"], told["node_cards"]) == ([0, 1, 2, 3], 8)
    node.end("a")
    node.start(node.job("whole", 8))
    assert report(node.paths("whole"), node)["modules"] == list(range(8))
    assert node.environment("whole") == ""


def test_check_mode_names_them_and_touches_nothing(node: Node, tmp_path: Path) -> None:
    node.start(node.job("a"))
    before = sorted(tmp_path.rglob("*"))
    shown = node.start(node.job("b"), check_mode=True)["launch"]
    assert (shown["modules"], shown["environment"][VISIBLE]) == ([4, 5, 6, 7], "4,5,6,7")
    assert sorted(tmp_path.rglob("*")) == before


def test_named_ones_are_taken_and_are_part_of_the_description(node: Node) -> None:
    job = node.job("a", 2, modules=(5, 6))
    assert taken(node.start(job)) == [5, 6]
    assert json.loads(Path(node.paths("a").description).read_text())["modules"] == [5, 6]
    said = refusal(node.start, replace(job, modules=(0, 1)))
    assert (
        "job a is running with another description: modules has 5 where 0 is asked for, 6 where 1 is asked for" in said
    )
    assert node.start(job)["changed"] is False


def test_whoever_names_them_in_the_environment_is_obeyed_and_counted(node: Node, tmp_path: Path) -> None:
    own = node.job("a", 2, environment={VISIBLE: "7,6"})
    assert taken(node.start(own)) == [7, 6]
    flags = tmp_path / "flags"
    flags.write_text(f"{VISIBLE}=4,5\n")
    by_file = node.job("b", 2, environment_files=(str(flags),))
    assert taken(node.start(by_file)) == [4, 5]
    assert node.environment("b") == ""
    assert taken(node.start(node.job("c"))) == [0, 1, 2, 3]
    said = refusal(node.start, node.job("d", 2, environment={VISIBLE: "5,4"}))
    assert "processes_per_node is 2 and modules 5, 4 are held by job b on n1; wait until they are free" in said
    both = refusal(node.start, node.job("d", 2, modules=(4, 5), environment_files=(str(flags),)))
    assert f"modules names 4, 5, and the environment files of n1 set {VISIBLE}=4,5 too; give one of them." in both


def test_whole_nodes_are_refused_while_a_part_is_another_s(node: Node) -> None:
    node.start(node.job("a", 1))
    said = refusal(node.start, node.job("whole", 8))
    assert said == (
        "processes_per_node is 8 and module 0 is held by job a on n1; wait until it is free, or ask for the 7 that are "
        "free."
    )
    assert refusal(node.prepare, node.job("whole", 8)) == said
    node.end("a")
    node.start(node.job("whole", 8))
    assert "0 of 8 cards are free on n1: modules 0 to 7 are held by job whole" in refusal(node.start, node.job("a", 1))


def test_what_the_node_lacks_is_said_before_anything_is_touched(node: Node, tmp_path: Path) -> None:
    node.start(node.job("a", 6))
    before = sorted(tmp_path.rglob("*"))
    for begin in (node.start, node.prepare):
        assert "2 of 8 cards are free on n1: modules 0 to 5 are held by job a" in refusal(begin, node.job("b"))
        assert "modules names 8, and n1 has modules 0 to 7" in refusal(begin, node.job("b", 1, modules=(8,)))
        assert "and module 5 is held by job a on n1" in refusal(begin, node.job("b", 2, modules=(5, 6)))
    assert sorted(tmp_path.rglob("*")) == before


def test_boards_that_nothing_joins_give_one_group(tmp_path: Path) -> None:
    node = Node(tmp_path, pci_id="0x1021")
    assert taken(node.start(node.job("a", 1, modules=(4,)))) == [4]
    assert "no link joins" in refusal(node.start, node.job("b", 2, modules=(3, 5)))
    assert taken(node.start(node.job("b"))) == [0, 1, 2, 3]


def test_a_card_that_does_not_work_stops_only_who_would_have_it(node: Node) -> None:
    (node.root / "sys/bus/pci/devices" / ADDRESSES[1] / "status").write_text("In reset\n")
    assert taken(node.start(node.job("a"))) == [4, 5, 6, 7]
    assert "module 1 is not usable (In reset)" in refusal(node.start, node.job("b"))
    assert "its cards are not all healthy" in refusal(node.start, node.job("whole", 8))


def test_ranks_are_bound_near_the_cards_that_were_chosen(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_binding, "service_cpus", lambda: frozenset(range(8)))
    for number, cpus in enumerate(("0-3", "4-7")):
        place = node.root / f"sys/devices/system/node/node{number}/cpulist"
        place.parent.mkdir(parents=True)
        place.write_text(f"{cpus}\n")
    first, second = (node.start(node.job(name, bind="numa"))["launch"]["binding"] for name in ("a", "b"))
    assert ({rank["numa_node"] for rank in first}, {rank["numa_node"] for rank in second}) == ({0}, {1})
    assert [rank["cpus"] for rank in second] == ["4", "5", "6", "7"]


def test_a_supervisor_knows_its_part(node: Node) -> None:
    node.start(node.job("a", supervision=SupervisionOptions()))
    told = json.loads(Path(node.paths("a").supervision).read_text())
    assert told["modules"] == [0, 1, 2, 3]
    node.end("a")
    node.start(node.job("whole", 8, supervision=SupervisionOptions()))
    assert json.loads(Path(node.paths("whole").supervision).read_text())["modules"] == []


def test_of_launches_at_the_same_time_none_takes_what_another_has(node: Node) -> None:
    """Each looks, and only then one after the other begins: the second look is under the node's lock."""
    found: dict[str, Any] = {}

    def launch(name: str) -> None:
        try:
            found[name] = taken(node.start(node.job(name)))
        except GaudiError as error:
            found[name] = error

    names = ("a", "b", "c")
    for name in names:
        node.paths(name)
    threads = [threading.Thread(target=launch, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [one for one in found.values() if isinstance(one, GaudiError)]
    assert sorted(one for one in found.values() if isinstance(one, list)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(refused) == 1
    assert "0 of 8 cards are free on n1" in str(refused[0])


def test_what_a_launch_over_all_nodes_chose_is_taken_or_refused(node: Node) -> None:
    several = {"hosts": ("n1", "n2"), "supervision": SupervisionOptions()}
    chosen = node.job("a", allotted=Allotment((2, 3, 4, 5)), **several)
    assert taken(node.start(chosen)) == [2, 3, 4, 5]
    with pytest.raises(GaudiError, match="and modules 2, 3 are held by job a on n1") as caught:
        node.start(node.job("b", allotted=Allotment((0, 1, 2, 3)), **several))
    assert "taken" not in caught.value.facts
    # Nobody has chosen: one node alone does not.
    assert "another job there would take the same ones" in refusal(node.start, node.job("b", **several))


def test_what_is_taken_between_the_choice_and_the_start_is_told_apart(node: Node, monkeypatch) -> None:
    job = node.job("b", hosts=("n1", "n2"), allotted=Allotment((0, 1, 2, 3)))
    node.paths("b")
    look = job_part.node_cards
    looks: list[int] = []

    def overtaken(*arguments: Any) -> Any:
        looks.append(1)
        if len(looks) == 2:
            # Another launch was faster, between this one's look and its start.
            cards = look(*arguments)
            return replace(cards, taken={0: "held by job a"})
        return look(*arguments)

    monkeypatch.setattr(job_part, "node_cards", overtaken)
    with pytest.raises(GaudiError, match="module 0 is held by job a") as caught:
        node.start(job)
    assert caught.value.facts == {"taken": True}
    assert not node.units[node.paths("b").unit].active


def test_a_node_offers_what_a_launch_chooses_from(node: Node) -> None:
    node.start(node.job("a", 2))
    job = node.job("b", hosts=("n1", "n2"))
    offer = node.prepare(job)["offer"]
    assert offer["cards"] == {
        "modules": list(range(8)),
        "taken": {"0": "held by job a", "1": "held by job a"},
        "together": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "board": "",
        "before": [4, 5, 6, 7],
    }
    assert offer["allotted"] == {}
    # Who has a whole node, or has said which cards, leaves nothing to choose.
    node.end("a")
    assert "cards" not in node.prepare(replace(job, processes_per_node=8))["offer"]
    assert "cards" not in node.prepare(replace(job, modules=(0, 1, 2, 3)))["offer"]
    assert "cards" not in node.prepare(replace(job, environment={VISIBLE: "0,1,2,3"}))["offer"]
    # What runs goes on with what it has.
    node.start(replace(job, allotted=Allotment((0, 1, 2, 3))))
    running = node.prepare(job)["offer"]
    assert running == {"allotted": {"modules": [0, 1, 2, 3], "rendezvous_port": 0}}


@pytest.mark.skipif(not port_is_free(DEFAULT_PORT), reason="the machine's own port 29500 is in use")
def test_the_usual_port_of_another_job_is_moved_from_and_one_that_was_given_is_not(node: Node) -> None:
    first = node.job("a", rendezvous_port=DEFAULT_PORT)
    assert DEFAULT_PORT in node.prepare(first)["offer"]["ports"]
    node.start(replace(first, allotted=Allotment(rendezvous_port=DEFAULT_PORT)))
    second = node.job("b", rendezvous_port=DEFAULT_PORT)
    offer = node.prepare(second)["offer"]
    assert offer["port_holder"] == "job a"
    assert DEFAULT_PORT not in offer["ports"]
    port = offer["ports"][0]
    result = node.start(replace(second, allotted=Allotment(rendezvous_port=port)))
    assert (result["launch"]["rendezvous_port"], str(port) in result["argv"]) == (port, True)
    # It is the same job all the same, where it meets now.
    again = node.start(second)
    assert (again["changed"], again["launch"]["rendezvous_port"]) == (False, port)
    assert node.prepare(second)["offer"]["allotted"] == {"modules": [4, 5, 6, 7], "rendezvous_port": port}
    # Whoever has said a port has it or none.
    node.end("a")
    assert "ports" not in node.prepare(node.job("c", 1, rendezvous_port=free_port()))["offer"]
    with pytest.raises(GaudiError, match=f"rendezvous_port {port} was free a moment ago, .* of job b") as caught:
        node.start(node.job("d", rendezvous_port=DEFAULT_PORT, allotted=Allotment(rendezvous_port=port)))
    assert caught.value.facts == {"taken": True}


@pytest.mark.skipif(not port_is_free(DEFAULT_PORT), reason="the machine's own port 29500 is in use")
def test_a_job_that_is_replaced_keeps_its_own_port(node: Node) -> None:
    job = node.job("a", rendezvous_port=DEFAULT_PORT)
    node.start(replace(job, allotted=Allotment(rendezvous_port=DEFAULT_PORT)))
    with socket.socket() as server:
        # As its ranks have it.
        server.bind(("", DEFAULT_PORT))
        server.listen()
        other = replace(job, processes_per_node=2)
        offer = node.prepare(other, replace=True)["offer"]
    assert (offer["allotted"], offer["ports"][0], offer["port_holder"]) == ({}, DEFAULT_PORT, "")
    # Its cards are its own as well.
    assert offer["cards"]["taken"] == {}


def test_stopping_gives_them_back(node: Node) -> None:
    node.start(node.job("a", 8))
    stop(node.paths("a"), node, check_mode=False)
    assert taken(node.start(node.job("b", 8))) == list(range(8))


def test_slurm_says_which_cards(node: Node) -> None:
    shown = node.start(node.job("a", 2, engine="slurm", slurm=SlurmOptions(cpus_per_rank=2)), check_mode=True)["launch"]
    assert (shown["modules"], VISIBLE in shown["environment"]) == ([], False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modules": (1, 1)}, "modules names 1 more than once; a card serves one process, so name each once."),
        ({"modules": (1,)}, "modules names 1 card(s) (1) and processes_per_node is 2; give as many ranks as modules."),
        (
            {"modules": (1, 2), "device": "cpu"},
            "modules names 1, 2, which are Gaudi cards, and the job's device is cpu",
        ),
        ({"modules": (1, 2), "engine": "slurm"}, "but with engine slurm Slurm says which cards; leave it empty."),
        (
            {"modules": (1, 2), "environment": {VISIBLE: "1,2"}},
            f"modules names 1, 2, and environment sets {VISIBLE} too; give one of them.",
        ),
    ],
)
def test_modules_that_cannot_be_meant_are_refused_on_any_node(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(check, described_job(processes_per_node=2, **changes), 8)


def test_a_witness_takes_no_cards_and_meets_where_the_others_do() -> None:
    watching = described_job(
        processes_per_node=2,
        host="w",
        modules=(1, 2),
        allotted=Allotment((1, 2), 29502),
        supervision=SupervisionOptions(witness="w"),
    )
    job = check(watching, 0)
    assert (job.part, job.port) == ((), 29502)


def test_options_become_modules_in_their_order() -> None:
    options = {
        "name": "a",
        "hosts": ["n1"],
        "host": "n1",
        "processes_per_node": 2,
        "rendezvous_address": "n1",
        "rendezvous_port": 29500,
        "command": ["x.py"],
        "venv": "/v",
        "environment": {},
        "environment_files": [],
    }
    job = job_from({**options, "modules": [6, 2], "allotted": {"modules": [], "rendezvous_port": 0}})
    assert (job.modules, job.allotted) == ((2, 6), Allotment())
    assert job_from({**options, "allotted": {"modules": [1, 2], "rendezvous_port": 29504}}).part == (1, 2)
