# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a study's job is told, as Ansible makes it of the operator's variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles" / "gaudi_tuning_study"
PLAY = f"""
- hosts: n1
  gather_facts: false
  vars_files: [{ROLE}/defaults/main.yml, {ROLE}/vars/main.yml]
  tasks:
    - ansible.builtin.copy:
        content: "{{{{ ['where', 'access', 'seconds'] | map('regex_replace', '^', '__gaudi_tuning_study_')
          | map('extract', vars) | to_json }}}}"
        dest: "{{{{ playbook_dir }}}}/told"
        mode: "0600"
"""


@pytest.fixture
def told(tmp_path):
    """The storage in a description, the words of the command, and the seconds of the study."""

    def do(**variables):
        (tmp_path / "play.yml").write_text(PLAY)
        command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "n1,", "-c", "local", "play.yml"]
        given = {"ansible_python_interpreter": sys.executable, "gaudi_training_hosts": ["n1"], **variables}
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")}
        done = subprocess.run(
            [*command, "-e", json.dumps(given)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "told").read_text())

    return do


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("postgresql+psycopg://user:planted@db:5432/optuna", "postgresql+psycopg://db:5432/optuna"),
        ("mysql://user:pl@nted/x@db/optuna?password=planted", "mysql://db/optuna"),
        ("sqlite:////shared/optuna.db", "sqlite:////shared/optuna.db"),
        ("/shared/journal", "/shared/journal"),
    ],
)
def test_a_storage_is_told_without_its_password(told, storage, shown):
    where, access, _seconds = told(gaudi_tuning_study_storage=storage, gaudi_tuning_study_name="a")
    assert (where, access) == (shown, ["--storage", "/etc/gaudi3_scale/tune/a/storage"])


@pytest.mark.parametrize(
    ("address", "where"), [("192.0.2.1", "grpc://192.0.2.1:29510"), ("fd00::1", "grpc://[fd00::1]:29510")]
)
def test_the_keeper_is_reached_by_its_own_address_and_with_certificates(told, address, where):
    given = {"ansible_host": address, "gaudi_tuning_study_trials": "10", "gaudi_tuning_study_timeout": 60}
    assert told(**given) == [where, ["--credentials", "/etc/gaudi3_scale/tune/training"], 1200.0]
