# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._variables_file import variables_file
from ansible_collections.gaudi3.scale.tests.variables_of import variables_of

HOSTILE = "{{ lookup('pipe', 'touch PWNED') }}"
PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "{{ gaudi_training_environment.X }} {{ gaudi_training_command[0] }}"
"""


def test_it_has_comments_and_variables():
    assert variables_file(
        "Trial 3.\nFor a launch.", {"gaudi_training_batch_size": 8, "gaudi_training_arguments": ["--é", "1"]}
    ) == (
        "# Trial 3.\n# For a launch.\ngaudi_training_arguments:\n- !unsafe '--é'\n"
        "- !unsafe '1'\ngaudi_training_batch_size: 8\n"
    )


def test_texts_that_ansible_has_marked_are_texts():
    """As a node's answer is before ansible-core 2.19."""
    told = {"gaudi_training_precision": "bf16", "gaudi_training_model": {"name": "a"}}
    assert variables_file("", wrap_var(told)) == variables_file("", told)


def test_it_holds_the_values_that_it_was_given():
    given = {
        "gaudi_training_model": {"layers": 2, "name": "a: b\n# 'c'"},
        "gaudi_training_learning_rate": 3e-4,
        "gaudi_training_command": ["train.py", "--steps={max_steps}", "\x1b[2J", "no", "1e3"],
        "training_compile": True,
        "gaudi_training_environment": {"X": "", "Y": None},
    }
    assert variables_of(variables_file("", given)) == given


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_is_no_literal_is_refused(value):
    with pytest.raises(GaudiError, match=r"gaudi_training_model has .*, which cannot be written to a variables file"):
        variables_file("", {"gaudi_training_model": {"width": [value]}})


def test_no_line_leaves_the_comment_and_no_other_name_is_set():
    text = variables_file("a\nansible_user: b\ransible_port: 1", {"ansible_ssh_common_args": "-o x", "training_A": 1})
    assert variables_of(text) == {}


def test_what_a_node_has_chosen_is_no_template_for_the_next_run(tmp_path, monkeypatch):
    # Ansible's own way of printing, whoever runs the tests.
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    text = variables_file(
        HOSTILE,
        {"gaudi_training_environment": {"X": HOSTILE, HOSTILE: "1"}, "gaudi_training_command": [f"it's {HOSTILE}"]},
    )
    (tmp_path / "best.yml").write_text(text)
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    done = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            "-i",
            "localhost,",
            "-c",
            "local",
            "play.yml",
            "-e",
            "@best.yml",
        ],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{HOSTILE} it's {HOSTILE}" in done.stdout
    assert not (tmp_path / "PWNED").exists()
