# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The order in which nodes are asked, without any node."""

from __future__ import annotations

import base64
import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.launch import LaunchedJob, launch, look

HOSTS, SPARE = ["n1", "n2"], "n3"
KEY, OTHER_KEY = "a" * 64, "b" * 64
AWAY = {"unreachable": True, "msg": "No route to host"}
FULL = {"failed": True, "msg": "rendezvous_port 29500 is in use by job books; give this job another port."}
PREPARED = {"state": "prepared", "clock_offset": 0.1}


class Nodes:
    """What nodes answer, by what they are asked, and the questions in their order."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def __call__(self, module, arguments):
        found = {}
        for node, options in arguments.items():
            question = options.get("state", module.rpartition(".")[2])
            known = {name: value() if callable(value) else value for name, value in options.items()}
            self.asked.append((question, node, known))
            usual = PREPARED if question == "prepared" else {"state": "stopped" if question == "stopped" else "running"}
            answer = self.answers.get(question, {}).get(node, usual)
            begun = {"run": options.get("key") or options.get("new_key")} if "state" in answer else {}
            found[node] = {**begun, **answer}
        return found

    def questions(self, *names):
        return [(question, node) for question, node, _options in self.asked if not names or question in names]


def begin(nodes, job=None, check_mode=False, left_out=None):
    job = job or LaunchedJob("llama", HOSTS, {"command": ["/t.py"]}, supervision={"spares": [SPARE]})
    said = []
    reported = launch(
        job, nodes, said.append, left_out=left_out or {}, check_mode=check_mode, clock=lambda: 7.0, secret=lambda _: KEY
    )
    return reported, said


def test_what_nodes_remark_is_shown_once_and_stops_nothing():
    remarked = {**PREPARED, "remarks": ["the cards are joined in groups of 4\x1b[2J."]}
    reported, said = begin(Nodes(prepared={"n1": remarked, "n2": remarked, SPARE: {**PREPARED, "remarks": "no list"}}))
    assert [line for line in said if "groups of 4" in line] == ["n1, n2: the cards are joined in groups of 4 [2J."]
    assert reported["start"] == [*HOSTS, SPARE]


def test_all_are_asked_before_the_first_is_started():
    nodes = Nodes()
    reported, _said = begin(nodes)
    everybody = [*HOSTS, SPARE]
    assert nodes.questions() == [("prepared", node) for node in everybody] + [("started", node) for node in everybody]
    assert (reported["start"], reported["left_out"]) == (everybody, {})


@pytest.mark.parametrize("question", [look, lambda job, nodes: begin(nodes, job)])
def test_more_nodes_than_supervisors_keep_together_are_refused_before_any_is_asked(question):
    nodes = Nodes()
    job = LaunchedJob("llama", [f"n{number}" for number in range(64)], {}, supervision={"witness": "w"})
    with pytest.raises(GaudiError, match=r"up to 64 nodes, and hosts, spares and witness are 65; .*engine: slurm"):
        question(job, nodes)
    assert nodes.asked == []


def test_slurm_takes_as_many_as_it_has():
    hosts = [f"n{number}" for number in range(512)]
    nodes = Nodes()
    begin(nodes, LaunchedJob("llama", hosts, {}, engine="slurm"))
    assert (len(nodes.questions("prepared")), nodes.questions("started")) == (512, [("started", "n0")])


def test_each_node_has_the_same_options_and_its_own_name():
    nodes = Nodes()
    begin(nodes)
    prepared = {node: options for question, node, options in nodes.asked if question == "prepared"}
    assert {options.pop("host") for options in prepared.values()} == {*HOSTS, SPARE}
    assert prepared["n1"] == prepared["n3"]
    assert (prepared["n1"]["controller_time"], prepared["n1"]["command"]) == (7.0, ["/t.py"])


def test_nodes_that_begin_a_run_have_one_secret():
    nodes = Nodes()
    begin(nodes)
    assert {options["new_key"] for question, _node, options in nodes.asked if question == "started"} == {KEY}


def test_a_node_that_is_away_is_left_out_where_a_spare_is_there():
    nodes = Nodes(prepared={"n2": AWAY})
    reported, said = begin(nodes)
    assert reported["start"] == ["n1", "n3"]
    assert nodes.questions("started") == [("started", "n1"), ("started", "n3")]
    assert said[-1] == "Continuing without n2: it does not answer: No route to host"


def test_one_that_was_away_before_is_not_asked():
    nodes = Nodes()
    reported, _said = begin(nodes, left_out={"n2": "it does not answer"})
    assert reported["left_out"] == {"n2": "it does not answer"}
    assert ("prepared", "n2") not in nodes.questions()


def test_with_too_few_nothing_is_begun():
    nodes = Nodes(prepared={"n2": FULL, "n3": AWAY})
    with pytest.raises(GaudiError, match=r"^Job llama was not started. n2: rendezvous_port 29500 is in use"):
        begin(nodes)
    assert nodes.questions("started", "stopped") == []


def test_clocks_that_are_apart_are_refused():
    nodes = Nodes(prepared={"n2": {**PREPARED, "clock_offset": 312.5}})
    with pytest.raises(GaudiError, match=r"^The clock of n2 is 5\.2 minutes ahead of"):
        begin(nodes)
    assert nodes.questions("started") == []


def test_what_was_begun_is_ended_where_too_few_could():
    nodes = Nodes(started={"n2": FULL, "n3": AWAY})
    with pytest.raises(GaudiError, match="was not started"):
        begin(nodes)
    assert nodes.questions("stopped") == [("stopped", node) for node in (*HOSTS, SPARE)]


def test_a_node_on_which_it_ran_before_is_not_ended():
    nodes = Nodes(
        prepared={"n1": {**PREPARED, "state": "running", "run": "r"}},
        started={"n1": {"state": "running", "run": "r", "control_directory": "/c"}, "n2": FULL, "n3": AWAY},
        slurp={"n1": {"content": base64.b64encode(json.dumps({"key": OTHER_KEY}).encode()).decode()}},
    )
    with pytest.raises(GaudiError, match="was not started"):
        begin(nodes)
    assert ("stopped", "n1") not in nodes.questions()


def test_the_others_join_the_run_of_the_node_that_knows_the_job():
    nodes = Nodes(
        prepared={"n2": {**PREPARED, "state": "running", "run": "r"}},
        started={"n2": {"state": "running", "run": "r", "control_directory": "/control/llama"}},
        slurp={"n2": {"content": base64.b64encode(json.dumps({"key": OTHER_KEY}).encode()).decode()}},
    )
    reported, _said = begin(nodes)
    assert reported["start"][0] == "n2"
    started = [(node, options.get("key")) for question, node, options in nodes.asked if question == "started"]
    assert started == [("n2", None), ("n1", OTHER_KEY), ("n3", OTHER_KEY)]
    assert ("slurp", "n2", {"src": "/control/llama/supervision.json"}) in nodes.asked


@pytest.mark.parametrize("content", ["", "e30=", base64.b64encode(b'{"key": "x; reboot"}').decode(), "%%"])
def test_a_key_that_is_none_is_refused(content):
    nodes = Nodes(
        prepared={"n1": {**PREPARED, "state": "running", "run": "r"}},
        started={"n1": {"state": "running", "run": "r", "control_directory": "/c"}},
        slurp={"n1": {"content": content}},
    )
    with pytest.raises(GaudiError, match=r"Job llama runs on n1, and its /c/supervision.json could not be read"):
        begin(nodes)


def test_one_that_cannot_begin_anew_stops_it_before_any_does():
    nodes = Nodes(prepared={"n1": {**PREPARED, "state": "succeeded"}, "n2": FULL})
    with pytest.raises(GaudiError, match="port 29500 is in use by job books"):
        begin(nodes, LaunchedJob("llama", HOSTS, {"command": ["/t.py"], "restart": True}))
    assert nodes.questions("started", "stopped") == []


def test_slurm_is_asked_on_the_first_host_alone():
    nodes = Nodes()
    reported, _said = begin(nodes, LaunchedJob("llama", HOSTS, {}, engine="slurm"))
    assert nodes.questions() == [("prepared", "n1"), ("prepared", "n2"), ("started", "n1")]
    assert reported["start"] == HOSTS


def test_what_slurm_has_is_never_ended():
    nodes = Nodes(started={"n1": FULL})
    with pytest.raises(GaudiError, match="was not started"):
        begin(nodes, LaunchedJob("llama", HOSTS, {}, engine="slurm"))
    assert nodes.questions("stopped") == []


def test_a_look_asks_only_who_is_there():
    nodes = Nodes(training_job_info={"n2": AWAY})
    job = LaunchedJob("llama", HOSTS, {}, supervision={"spares": [SPARE]})
    assert look(job, nodes)["left_out"] == {"n2": "it does not answer: No route to host"}
    assert {question for question, _node in nodes.questions()} == {"training_job_info"}
