# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COLLECTIONS = Path(__file__).resolve().parents[4] / ".collections"
PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Refuse
      gaudi3.scale.options_check:
        report_target:
          target: "{{ gaudi_report_target | default('') }}"
          reads: "{{ {'path': baseline, 'option': 'gaudi_compare_baseline'} if baseline is defined else omit }}"
          writes: [{path: kept/my.yml, option: gaudi_compare_kept_file}]
      register: place

    - name: Show
      ansible.builtin.debug:
        msg: "{{ place.target }} has {{ place.text }}."
"""


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Ansible's own way of printing, whoever runs the tests."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)


@pytest.fixture
def play(tmp_path):
    def run(*arguments: str) -> str:
        (tmp_path / "play.yml").write_text(PLAYBOOK)
        ansible = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.run(
            [ansible, "-i", "localhost,", "-c", "local", "play.yml", *arguments],
            cwd=tmp_path,
            env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    return run


@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_it_reads_and_makes_nothing(play, tmp_path, mode):
    (tmp_path / "base.json").write_text("numbers")
    screen = play("-e", "baseline=base.json", *mode)
    assert f'"msg": "{tmp_path}/gaudi3_scale_reports has numbers."' in screen
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.json", "play.yml"]


def test_what_cannot_take_a_report_ends_the_play_with_one_sentence(play, tmp_path):
    screen = play("-e", "gaudi_report_target=S3://pages")
    sentence = (
        "gaudi_report_target S3://pages: there is no such place; name a directory, or a bucket as s3://bucket/prefix."
    )
    assert f'"msg": "{sentence}"' in screen
    assert "TASK [Show]" not in screen
    screen = play("-e", "baseline=nothing.json")
    assert f"gaudi_compare_baseline: there is no {tmp_path}/nothing.json; correct the name, or save it first." in screen
