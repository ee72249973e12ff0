# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Run a module as Ansible runs it on a node: a process of its own, JSON in, JSON out.

A module that runs inside the test process would be judged by ansible-core to be part of a controller as soon as any
other test has imported an action plugin, and its warnings would then go to the screen instead of into the result
(ansible.module_utils.common.warnings).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from ansible import constants
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import VARIABLE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import taken_answer

# A newer ansible-core returns a task's options only where it is asked to, and an older one knows no such word.
ASKS_FOR_OPTIONS = "INJECT_INVOCATION" in constants.config.get_configuration_definitions()
# What AnsibleModule adds by itself: the attributes of a `path`, and messages in a shape that Ansible alone reads back.
OF_ANSIBLE = {"warnings", "exception", "state", "uid", "owner", "mode", "gid", "group", "size"}


def call(name: str, /, check_mode: bool = False, kernel_root: str = "/", **options: Any) -> tuple[dict[str, Any], int]:
    """The module's result and its exit status, on a node whose kernel is the one below ``kernel_root``."""
    words = {"_ansible_check_mode": check_mode, "_ansible_remote_tmp": "/tmp"}
    if ASKS_FOR_OPTIONS:
        words["_ansible_inject_invocation"] = True
    done = subprocess.run(
        [sys.executable, "-m", f"ansible_collections.gaudi3.scale.plugins.modules.{name}"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": {**options, **words}}),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), VARIABLE: kernel_root},
    )
    result = json.loads(done.stdout)
    # No run is to say of what Ansible is about to take away.
    assert "deprecations" not in result, result["deprecations"]
    # The controller drops what RETURN does not have, and refuses what it has otherwise.
    lost = set(result) - set(taken_answer(name, result)) - OF_ANSIBLE
    assert not lost, lost
    return result, done.returncode
