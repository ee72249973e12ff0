# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``configure_controller.yml`` with the real modules of awx.awx against a controller of the tests' own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.making import MADE, SAME, make
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import controller_objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks

from tests.controller_runs import COLLECTIONS, GATEWAY, configure, with_operator
from tests.controller_site import site
from tests.controller_stub import TOKEN, Controller, served

__all__ = ["configure"]

ROOT = Path(__file__).resolve().parents[4]
PLAYBOOK = ROOT / "playbooks" / "configure_controller.yml"


KINDS = ("controller_labels", "controller_projects", "controller_inventories", "controller_templates")


@pytest.mark.in_turn
def test_behind_a_gateway_each_request_has_its_prefix(monkeypatch):
    """One object of a kind, by the modules themselves; all of them in the long run."""
    monkeypatch.setenv("CONTROLLER_OPTIONAL_API_URLPATTERN_PREFIX", GATEWAY)
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS))
    controller = with_operator(GATEWAY)
    objects = controller_objects(site(credentials=["operator"], survey_defaults={}), read_playbooks(ROOT))
    with served(controller) as host:

        def call(module: str, entry: dict[str, object]) -> dict[str, object]:
            ansible = Path(sys.executable).with_name("ansible")
            arguments = json.dumps({**entry, "controller_host": host, "controller_oauthtoken": TOKEN})
            command = [ansible, "localhost", "-m", f"awx.awx.{module}", "-a", arguments, "-o"]
            said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            found: dict[str, object] = json.loads(said.partition("=>")[2])
            return found

        wanted = {kind: objects[kind][:1] for kind in KINDS}
        assert [step.state for step in make(wanted, call, host, False)] == [MADE] * len(KINDS)
        assert [step.state for step in make(wanted, call, host, False)] == [SAME] * len(KINDS)


def refused(configure, controller: Controller, **given: object) -> str:
    """The screen of a run that made nothing."""
    with served(controller) as host:
        status, screen = configure({"gaudi_controller_host": host, **given})
    assert status == 2, screen
    assert not any(method == "POST" and "templates" in path for method, path, _given in controller.writes)
    return screen


def test_a_token_that_is_not_known_is_refused(configure):
    screen = refused(configure, with_operator(), gaudi_controller_token="another")
    assert "the controller does not know this token or password (401); look at gaudi_controller_token" in screen
    assert "another" not in screen


@pytest.mark.long
def test_an_account_that_is_not_known_is_refused(configure):
    given = {"gaudi_controller_token": "", "gaudi_controller_username": "admin", "gaudi_controller_password": "wrong1"}
    screen = refused(configure, with_operator(), **given)
    assert "does not know this token or password (401)" in screen
    assert "wrong1" not in screen


def test_nothing_to_log_in_with_is_refused(configure):
    assert "gaudi_controller_token is empty, and" in refused(configure, with_operator(), gaudi_controller_token="")


@pytest.mark.long
def test_a_controller_behind_a_gateway_is_found_by_its_prefix_alone(configure):
    screen = refused(configure, with_operator(GATEWAY))
    assert (
        "there is no such address (404); look at gaudi_controller_host, and give gaudi_controller_api_prefix" in screen
    )


@pytest.mark.long
def test_a_credential_that_the_controller_lacks_is_refused(configure):
    controller = Controller()
    with served(controller) as host:
        status, screen = configure({"gaudi_controller_host": host})
    assert status == 2
    assert "it has no credential of that name; make it there, or correct gaudi_controller_credentials" in screen


def test_an_answer_outside_of_its_choices_is_refused_before_anything_is_made(configure):
    controller = with_operator()
    screen = refused(configure, controller, gaudi_controller_survey_defaults={"gaudi_training_engine": "ray"})
    assert "gaudi_training_engine is ray; give one of torchrun, slurm, mpirun." in screen
    assert controller.writes == []


@pytest.mark.long
def test_a_certificate_that_is_not_trusted_is_refused(configure, tmp_path):
    pem, key, certificate = (tmp_path / name for name in ("own.pem", "key.pem", "certificate.pem"))
    own = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run(["openssl", *own, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    pem.write_text(key.read_text() + certificate.read_text())
    with served(with_operator(), pem) as host:
        status, screen = configure({"gaudi_controller_host": host})
        unchecked = {"gaudi_controller_validate_certs": False, "gaudi_controller_token": "another"}
        _status, further = configure({"gaudi_controller_host": host, **unchecked})
    assert status == 2
    assert "its certificate is not trusted here; add its authority to the system's" in screen
    # It was asked, and says no itself.
    assert "the controller does not know this token or password (401)" in further


def test_a_controller_that_does_not_answer_is_refused(configure):
    status, screen = configure({"gaudi_controller_host": "http://127.0.0.1:9"})
    assert status == 2
    assert "the controller does not answer; look at gaudi_controller_host and the network." in screen


def test_the_data_can_be_written_without_a_controller(configure, tmp_path):
    given = {"gaudi_controller_data_file": "controller.yml", "gaudi_controller_host": ""}
    assert configure(given, "--check")[0] == 0
    assert not (tmp_path / "controller.yml").exists()
    assert configure(given)[0] == 0
    text = (tmp_path / "controller.yml").read_text()
    assert "gaudi_training_hosts: !unsafe '{{ (gaudi_outcome_qualify_nodes | mandatory(" in text
    data = yaml.safe_load(text.replace("!unsafe ", ""))
    assert {"controller_templates", "controller_workflows", "controller_projects"} <= {*data}
    status, screen = configure(given)
    assert (status, "changed=0" in screen) == (0, True)
    status, screen = configure({"gaudi_controller_host": ""})
    assert status == 2
    assert "gaudi_controller_host and gaudi_controller_data_file are both empty" in screen
