# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Actions that decide for a fleet from what its hosts have registered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

COLLECTIONS = Path(__file__).resolve().parents[4] / ".collections"
HOSTS = {"a": {"gaudi_rack": 1}, "b": {"gaudi_rack": 1}, "c": {"gaudi_rack": 2}}


@pytest.fixture
def play(tmp_path, monkeypatch):
    # Ansible's own way of printing, whoever runs the tests.
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)

    def run(*tasks: dict[str, object]) -> str:
        """What tasks print on three hosts that nobody can reach; no task may ask them."""
        (tmp_path / "play.yml").write_text(
            yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": list(tasks)}])
        )
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": HOSTS}}))
        host = ("-e", "ansible_host=192.0.2.1", "-e", "ansible_connection=ssh")
        ansible = Path(sys.executable).with_name("ansible-playbook")
        done = subprocess.run(
            [ansible, "-i", "hosts.json", "play.yml", *host],
            cwd=tmp_path,
            env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    return run


def action(name: str, register: str, /, run_once: bool = False, **options: object) -> dict[str, object]:
    return {f"gaudi3.scale.{name}": options, "register": register, "run_once": run_once}


def show(expression: str) -> dict[str, object]:
    return {"ansible.builtin.debug": {"msg": f"shown: {{{{ [{expression}] | string }}}}"}, "run_once": True}


ALL = "{{ ansible_play_hosts_all }}"
DRIVER = {"of": "driver", "step": "batch", "hosts": ALL}
ROUNDS = {"of": "firmware", "step": "rounds"}


def test_an_upgrade_ends_when_more_are_sick_than_may_be(play):
    sick = "{{ 'failed' if inventory_hostname in ['b', 'c'] else 'upgraded' }}"
    screen = play(
        action(
            "rollout",
            "upgraded",
            of="driver",
            step="outcome",
            event="failed",
            release="1.24.1",
            failure={"state": sick, "msg": "no."},
        ),
        action("rollout", "few", run_once=True, **DRIVER, registered="upgraded"),
        action("rollout", "many", run_once=True, **DRIVER, registered="upgraded", max_fail_percentage=70),
        action("rollout", "canary", run_once=True, **DRIVER, registered="upgraded", canary="c"),
        action("rollout", "unknown", run_once=True, **DRIVER, registered="nothing"),
        show("few.stop, few.sick, many.stop, canary.stop, unknown.stop"),
    )
    assert "shown: [True, ['b', 'c'], False, True, False]" in screen


def test_firmware_is_written_in_rounds_until_the_first_goes_wrong(play):
    screen = play(
        {"ansible.builtin.set_fact": {"before": {"outstanding": True}}, "when": "inventory_hostname != 'b'"},
        action("rollout", "order", run_once=True, **ROUNDS, hosts=ALL, registered="before", canary="c"),
        action("rollout", "idle", run_once=True, **ROUNDS, hosts=["b"], registered="before"),
        show("order.rounds, order.hosts, order.sizes, idle.hosts, idle.sizes"),
        action("rollout", "outcome", of="firmware", step="outcome", event="begun"),
        action("rollout", "batch", run_once=True, of="firmware", step="batch", hosts=ALL, registered="outcome"),
        show("batch.stop, outcome.state"),
    )
    assert "shown: [[['c'], ['a']], ['c', 'a'], [1, 1], ['!all'], [1]]" in screen
    assert "shown: [True, 'failed']" in screen


def test_less_than_two_settings_that_help_leave_nothing_to_compare_together(play):
    screen = play(
        action("comparison_together", "together", run_once=True, hosts=ALL), show("together.base, together.settings")
    )
    assert "shown: [{}, []]" in screen


def test_a_study_is_kept_on_its_first_node(play):
    study = {"step": "nodes", "name": "mine", "hosts": ALL, "directory": "/etc/mine"}
    screen = play(
        action("tune_study", "served", run_once=True, **study),
        action("tune_study", "own", run_once=True, **study, storage="postgresql://me:secret@db/optuna"),
        show("served.keeper, served.where, served.refusal, own.serving, own.where, own.access"),
    )
    shown = "['a', 'grpc://192.0.2.1:29510', '', '', 'postgresql://db/optuna', ['--storage', '/etc/mine/storage']]"
    assert f"shown: {shown}" in screen


def test_the_probe_s_answer_is_kept_on_the_controller(play, tmp_path):
    found = {"batch_size": 96, "accumulation_steps": 2, "learning_rate": None}
    keep = {"step": "write_file", "heading": "mine", "found": found}
    play(
        action("hpu_batch_probe_nodes", "alone", run_once=True, **keep, path=str(tmp_path / "alone.yml")),
        action("hpu_batch_probe_nodes", "both", run_once=True, **keep, path=str(tmp_path / "both.yml"), global_batch=8),
    )
    alone, both = ((tmp_path / name).read_text().splitlines()[1:-1] for name in ("alone.yml", "both.yml"))
    assert alone == ["# mine", "gaudi_training_batch_size: 96"]
    assert both == [*alone, "gaudi_training_accumulation_steps: 2"]


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        (
            "options_check",
            {"upgrade": {"hosts": ["a"], "canary": "z"}},
            "gaudi_upgrade_canary is z, which is not a host of this run",
        ),
        (
            "options_check",
            {"upgrade": {"hosts": ["a"], "node": ""}},
            "gaudi_upgrade_node is not set; name one of a.",
        ),
        (
            "options_check",
            {"firmware": {"hosts": ["a"], "accept": "1.22"}},
            "gaudi_firmware_accept is 1.22; give a version in",
        ),
        ("options_check", {"cost": {"job": "a b", "currency": "EUR"}}, "gaudi_cost_job is 'a b'; give the name that"),
        (
            "options_check",
            {"job_hosts": {"hosts": ["a", "z"], "option": "mine"}},
            "mine names z, which is not in the inventory",
        ),
        (
            "options_check",
            {"job_hosts": {"hosts": ["a"], "witness": "a\0b"}},
            "witness contains a NUL character",
        ),
        (
            "rollout",
            {"of": "driver", "step": "outcome", "event": "begun"},
            "event is begun, not one of driver; give arri",
        ),
        ("rollout", {"of": "driver", "step": "outcome"}, "step is outcome but all of the following are missing: event"),
        ("node_qualification", {"step": "keep_baseline"}, "all of the following are missing: report, baseline"),
        ("node_qualification", {"step": "keep_baseline", "report": "no.json", "baseline": "b"}, "there is no"),
        ("node_qualification", {"step": "search", "hosts": ["a"], "expected": -1}, "expected is -1; give GB/s of bus"),
        ("tune_study", {"step": "plan"}, "step is plan but all of the following are missing: study"),
        ("options_check", {}, "one of the following is required: upgrade, firmware, cost, job_hosts, report_target"),
        (
            "bundle_sources",
            {
                "distribution": "Ubuntu",
                "os_family": "Debian",
                "path": "/dev/null/x",
                "files": ["a/own.whl", "b/own.whl"],
            },
            "files has 'own.whl' twice; give",
        ),
        ("bundle_sources", {"distribution": "Plan", "os_family": "9"}, "has no packages for 'Plan' ('9'); build the"),
    ],
)
def test_what_cannot_be_meant_fails(play, name, options, sentence):
    assert sentence in play(action(name, "said", **options))
