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


def action(name: str, register: str, run_once: bool = False, **options: object) -> dict[str, object]:
    return {f"gaudi3.scale.{name}": options, "register": register, "run_once": run_once}


def show(expression: str) -> dict[str, object]:
    return {"ansible.builtin.debug": {"msg": f"shown: {{{{ [{expression}] | string }}}}"}, "run_once": True}


ALL = "{{ ansible_play_hosts_all }}"


def test_an_upgrade_ends_when_more_are_sick_than_may_be(play):
    sick = "{{ 'failed' if inventory_hostname in ['b', 'c'] else 'upgraded' }}"
    screen = play(
        action(
            "upgrade_outcome",
            "upgraded",
            event="failed",
            release="1.24.1",
            failure={"state": sick, "msg": "no."},
        ),
        action("upgrade_batch", "few", run_once=True, hosts=ALL, outcome="upgraded"),
        action("upgrade_batch", "many", run_once=True, hosts=ALL, outcome="upgraded", max_fail_percentage=70),
        action("upgrade_batch", "canary", run_once=True, hosts=ALL, outcome="upgraded", canary="c"),
        action("upgrade_batch", "unknown", run_once=True, hosts=ALL, outcome="nothing"),
        show("few.stop, few.sick, many.stop, canary.stop, unknown.stop"),
    )
    assert "shown: [True, ['b', 'c'], False, True, False]" in screen


def test_firmware_is_written_in_rounds_until_the_first_goes_wrong(play):
    screen = play(
        {"ansible.builtin.set_fact": {"before": {"outstanding": True}}, "when": "inventory_hostname != 'b'"},
        action("firmware_rounds", "order", run_once=True, hosts=ALL, shown="before", canary="c"),
        action("firmware_rounds", "idle", run_once=True, hosts=["b"], shown="before"),
        show("order.rounds, order.hosts, order.sizes, idle.hosts, idle.sizes"),
        action("firmware_outcome", "outcome", event="begun"),
        action("firmware_batch", "batch", run_once=True, hosts=ALL, outcome="outcome"),
        show("batch.stop, outcome.state"),
    )
    assert "shown: [[['c'], ['a']], ['c', 'a'], [1, 1], ['!all'], [1]]" in screen
    assert "shown: [True, 'failed']" in screen


def test_less_than_two_settings_that_help_leave_nothing_to_compare_together(play):
    screen = play(
        action("comparison_together", "together", run_once=True, hosts=ALL), show("together.base, together.settings")
    )
    assert "shown: [{}, []]" in screen


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        (
            "upgrade_options",
            {"hosts": ["a"], "canary": "z"},
            "gaudi_driver_upgrade_canary is z, which is not a host of this run",
        ),
        ("upgrade_options", {"hosts": ["a"], "node": ""}, "gaudi_driver_upgrade_node is not set; name one of a."),
        ("firmware_options", {"hosts": ["a"], "accept": "1.22"}, "gaudi_firmware_accept is 1.22; give a version in"),
        (
            "bundle_files",
            {"path": "/dev/null/x", "files": ["a/own.whl", "b/own.whl"]},
            "files has 'own.whl' twice; give",
        ),
        ("bundle_contents", {"distribution": "Plan", "os_family": "9"}, "has no packages for 'Plan' ('9'); build the"),
    ],
)
def test_what_cannot_be_meant_fails(play, name, options, sentence):
    assert sentence in play(action(name, "said", **options))
