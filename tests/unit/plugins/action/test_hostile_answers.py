# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that answers what it likes: each field of a whole answer, one at a time, through the action plugins."""

from __future__ import annotations

import copy
import json
import math
import re
from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action import hpu_batch_probe, hpu_compare_settings
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _step_by_step as step_by_step
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_inventory import next_round
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_report import probe_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.compare_settings_kind import compare_settings_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._variables_file import variables_file
from ansible_collections.gaudi3.scale.tests.unit.json_places import places, with_value
from ansible_collections.gaudi3.scale.tests.unit.module_answers import (
    comparison_answer,
    comparison_verdict,
    probe_answer,
    probe_trial,
)
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

LOOKUP = "{{ lookup('pipe', 'id') }}"
POISON = [
    LOOKUP,
    "{%raw%}",
    "\x1b]0;title\x07\x9b2J\u202egnp",
    "PLAY RECAP ***\nn9 : ok=1",
    "x" * 100_000,
    "\ud800",
    math.nan,
    math.inf,
    10**400,
    -1,
    True,
    None,
    [],
    [[]],
    {"ansible_user": LOOKUP},
    {LOOKUP: LOOKUP},
]
ASKED = {"base": {"batch_size": 8}, "settings": [{"name": "a", "flags": {"A": "1"}, "options": {"compile": True}}]}
MEASURED = comparison_verdict("a", plain=["A"], notes=["n"], samples_per_second=2.4, memory=1.1, loss=0.5)
PROBED = probe_answer(
    16,
    8,
    16,
    cached=True,
    remarks=["r"],
    within=0.1,
    global_batch={"global_batch": 64, "world_size": 1, "batch_size": 16, "accumulation_steps": 4, "learning_rate": 0.1},
    ansible_facts={"gaudi_batch_size": 16},
    changed=False,
    diff=[{"before_header": "p", "before": "8\n", "after": "16\n"}],
)
COMPARED = comparison_answer(3, cached=True, remarks=["r"], regressions=["slower"], changed=False, verdicts=[MEASURED])
FAILED = {"failed": True, "msg": "no venv", "trials": [probe_trial(8)], "runs": COMPARED["runs"], "key": "k", "rc": 1}


def _short(module):
    return module.__name__.rpartition(".")[2]


@pytest.fixture
def answered(monkeypatch):
    """What the action of n1 registers where its module answers this."""
    monkeypatch.setattr(step_by_step, "Display", lambda: SimpleNamespace(display=print, warning=print))
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})

    def do(module, answer):
        action = object.__new__(module.ActionModule)
        action._task = SimpleNamespace(
            args=dict(ASKED), check_mode=False, action=f"gaudi3.scale.{_short(module)}", _role=None
        )
        action._execute_module = lambda **_: copy.deepcopy(answer)
        return action.run(task_vars={"inventory_hostname": "n1"})

    return do


def compared(**hosts):
    given = {"tolerance": 0.05, "together": True, "built_in": True, "workload": "m:f", "kept_file": "", "baseline": ""}
    return compare_settings_kind(Asked(hosts, given, False))


def kept(made):
    return made.options["files"][0]["variables"]


def strings(value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *strings(one))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def is_harmless(result):
    """No number that is none, nothing that a terminal obeys or a template is made of, and nothing without end."""
    json.dumps(result, allow_nan=False)
    texts = list(strings(result))
    assert not [
        text
        for text in texts
        if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    ]
    assert not [text for text in texts if re.search(r"\{[{%#]", text)]
    assert max(map(len, texts), default=0) < 5000
    return True


@pytest.mark.parametrize("poison", POISON, ids=lambda poison: ascii(poison)[:20])
@pytest.mark.parametrize(
    "module, answer",
    [
        (hpu_batch_probe, PROBED),
        (hpu_compare_settings, COMPARED),
        (hpu_batch_probe, FAILED),
        (hpu_compare_settings, FAILED),
    ],
    ids=["probe", "comparison", "failed probe", "failed comparison"],
)
def test_no_field_carries_anything_past_the_door(answered, module, answer, poison):
    for place in filter(None, places(answer)):
        if place == ("failed",):
            continue
        result = answered(module, with_value(answer, place, poison))
        assert is_harmless(result), place
        # The others' answers are used, whatever this one says.
        if module is hpu_batch_probe:
            probed = {"n1": result, "n2": PROBED}
            assert probe_report(probed)["batch_size"] in range(1, 17), place
            assert next_round(probed) is not None
        else:
            sound = {"gaudi_compare_result": answered(hpu_compare_settings, COMPARED)}
            made = compared(n1={"gaudi_compare_result": result}, n2=sound)
            assert "n2" in made.options["data"]["hosts"], place
            assert kept(made) in ({}, kept(compared(n2=sound))), place


@pytest.mark.parametrize(
    "place, poison, said",
    [
        (
            ("batch_size",),
            LOOKUP,
            r"n1 answered gaudi3.scale.hpu_batch_probe .*: batch_size is .{ { lookup.*, not a whole",
        ),
        (("batch_size",), 4096, "batch_size is 4096, not a whole number from 1 to 1024"),
        (("trials", 1, "step_seconds"), math.nan, r"trials\[1\].step_seconds is nan, not a finite number"),
        (("trials", 0, "outcome"), "fine", r"trials\[0\].outcome is 'fine', not one of ok, out_of_memory"),
        (("key",), "a\nb", r"key is 'a\\nb', not one line"),
    ],
)
def test_the_node_and_the_field_are_named(answered, place, poison, said):
    result = answered(hpu_batch_probe, with_value(PROBED, place, poison))
    assert (result["failed"], "batch_size" in result) == (True, False)
    assert re.search(said, result["msg"])


def test_what_settings_are_is_never_the_nodes_word(answered):
    hostile = copy.deepcopy(COMPARED)
    hostile["settings"] = {"base": {}, "a": {"flags": {"LD_PRELOAD": "/tmp/x.so"}, "options": {}, "batch_size": 8}}
    hostile["verdicts"][0].update(flags={"LD_PRELOAD": "/tmp/x.so"}, plain=["LD_PRELOAD"])
    result = answered(hpu_compare_settings, hostile)
    variables = kept(compared(n1={"gaudi_compare_result": result}))
    assert variables["gaudi_training_environment"] == {"A": "1"}
    assert "LD_PRELOAD" not in variables_file("", variables)


def test_a_verdict_on_a_setting_that_nobody_asked_for_is_refused(answered):
    hostile = with_value(COMPARED, ("verdicts", 0, "name"), "b")
    assert "verdicts is ['b'], not those of a" in answered(hpu_compare_settings, hostile)["msg"]


def test_a_node_sets_no_variable(answered):
    facts = {"gaudi_batch_size": 16, "ansible_connection": "local", "gaudi_training_command": ["id"]}
    result = answered(hpu_batch_probe, {**PROBED, "ansible_facts": facts, "ansible_stats": {"data": facts}})
    assert result["ansible_facts"] == {"gaudi_batch_size": 16}
    assert "ansible_stats" not in result


def test_what_ansible_makes_of_warnings_and_of_a_module_that_broke_is_a_text(answered):
    summary = SimpleNamespace(event=SimpleNamespace(msg=f"careful\x1b {LOOKUP}", formatted_traceback=None))
    assert answered(hpu_batch_probe, {**PROBED, "warnings": [summary]})["warnings"] == [
        "careful  { { lookup('pipe', 'id') }}"
    ]
    broken = SimpleNamespace(event=SimpleNamespace(msg="boom", formatted_traceback="Traceback\n  x"))
    result = answered(hpu_batch_probe, {"failed": True, "exception": broken})
    text = "boom\nTraceback\n  x"
    see = f"docs/batch.md in {ADDRESS}"
    assert result == {"failed": True, "exception": text, "msg": text, "remarks": [], "see": see}


def test_what_the_modules_really_answer_passes(answered, tmp_path):
    options = {"state_directory": str(tmp_path / "state"), "venv": str(tmp_path / "venv"), "device": "cpu"}
    probed, _status = call("hpu_batch_probe", check_mode=True, **options)
    assert answered(hpu_batch_probe, probed)["next"] == probed["next"]
    compared, status = call("hpu_compare_settings", check_mode=True, **ASKED, **options)
    assert status == 0, compared
    result = answered(hpu_compare_settings, compared)
    assert {key: result[key] for key in ("settings", "verdicts", "fields", "next")} == {
        key: compared[key] for key in ("settings", "verdicts", "fields", "next")
    }
    failed, _status = call("hpu_batch_probe", **options)
    assert "install the training stack first" in answered(hpu_batch_probe, failed)["msg"]
