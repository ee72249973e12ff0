# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a real AnsibleModule writes to the node's journal of a task's options, before the module's own code runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

MODULE = """
import sys
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.masked_options import MaskedOptions

class Module(MaskedOptions, AnsibleModule):
    def log(self, msg, log_args=None):
        sys.stderr.write(f"{msg} {log_args}")

module = Module(argument_spec={"environment": {"type": "dict"}, "index": {"type": "str"}, "name": {"type": "str"}})
module.exit_json(given=list(module.params["environment"].values()) == ["Planted1", "1"])
"""
OPTIONS = {
    "name": "llama",
    "index": "https://robot:Planted1@mirror.example.com",
    "environment": {"HF_TOKEN": "Planted1", "OMP_NUM_THREADS": "1"},
}


def module(options: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MODULE],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": {**options, "_ansible_remote_tmp": "/tmp"}}),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_nul_does_not_stop_at_the_log() -> None:
    # What the option may be is then for the module itself to say.
    done = module({**OPTIONS, "name": "lla\0ma"})
    assert "given" in json.loads(done.stdout)
    assert "lla\\0ma" in done.stderr
    assert "\0" not in done.stderr


def test_no_secret_is_in_the_journal_and_the_module_has_it() -> None:
    done = module(OPTIONS)
    assert json.loads(done.stdout)["given"] is True
    assert "Invoked with" in done.stderr
    assert "llama" in done.stderr
    assert "OMP_NUM_THREADS" in done.stderr
    assert "Planted1" not in done.stderr + done.stdout
