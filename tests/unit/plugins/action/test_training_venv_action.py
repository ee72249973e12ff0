# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller tells the module of the node library's wheel, and what it brings."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action.training_venv import ActionModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import build

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Training environment
      gaudi3.scale.training_venv: {arguments}
"""


class Node(ActionModule):
    """The action before a node that answers one module call after the other."""

    def __init__(self, arguments: dict[str, Any], *answers: dict[str, Any]) -> None:
        self._task = SimpleNamespace(args=arguments, action="gaudi3.scale.training_venv", _role=None)
        self._connection = SimpleNamespace(
            _shell=SimpleNamespace(tmpdir=None, join_path=lambda *parts: "/".join(parts))
        )
        self.answers, self.calls, self.brought = list(answers), [], {}

    def _execute_module(self, module_name: str, module_args: dict[str, Any], **_more: Any) -> dict[str, Any]:
        self.calls.append(dict(module_args))
        return self.answers.pop(0)

    def _make_tmp_path(self, remote_user: Any = None) -> str:
        self._connection._shell.tmpdir = "/home/operator/.ansible/tmp/x"
        return "/home/operator/.ansible/tmp/x"

    def _transfer_file(self, local_path: str, remote_path: str) -> str:
        self.brought[remote_path] = Path(local_path).read_bytes()
        return remote_path

    def _fixup_perms2(self, *_paths: Any, **_more: Any) -> None:
        """Nothing to do here."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    return lambda node: node.run(task_vars={})


def test_a_node_that_has_it_costs_one_module_call_and_no_file(run: Any) -> None:
    node = Node({"release": "1.24.1", "node_library": "bundled"}, {"changed": False})
    assert run(node) == {"changed": False}
    wheel = build()
    assert node.calls == [
        {"release": "1.24.1", "node_library": f"gaudi3-scale @ bundled:{wheel.file}#sha256={wheel.sha256}"}
    ]
    assert node.brought == {} and node._connection._shell.tmpdir is None


def test_a_node_that_lacks_it_gets_it_and_the_module_runs_again(run: Any) -> None:
    missing = {"failed": True, "msg": "…", "missing_wheel": "/opt/x.whl"}
    node = Node({"release": "1.24.1", "node_library": "bundled"}, missing, {"changed": True})
    assert run(node) == {"changed": True}
    ((path, content),) = node.brought.items()
    assert node.calls[1] == {**node.calls[0], "node_library_file": path}
    assert node.calls[0]["node_library"].endswith(hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("library", [None, "", "/media/gaudi3_scale-0.1.0-py3-none-any.whl"])
def test_a_sites_own_is_the_modules_business(run: Any, library: str | None) -> None:
    arguments = {"release": "1.24.1"} if library is None else {"release": "1.24.1", "node_library": library}
    node = Node(arguments, {"failed": True, "msg": "no"})
    assert run(node) == {"failed": True, "msg": "no", "see": f"docs/training.md in {ADDRESS}"}
    assert node.calls == [arguments] and node.brought == {}


def play(tmp_path: Path, **arguments: Any) -> str:
    """What a check run with a diff prints, on a host that has nothing."""
    wanted = {"release": "1.24.1", "path": str(tmp_path / "opt/venv"), "os_directory": "debian12", **arguments}
    playbook = tmp_path / "play.yml"
    playbook.write_text(PLAY.replace("{arguments}", json.dumps(wanted)))
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = [ansible, "-i", "localhost,", "-c", "local", "--check", "--diff", playbook]
    interpreter = ["-e", f"ansible_python_interpreter={sys.executable}"]
    done = subprocess.run([*command, *interpreter], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_check_mode_on_a_virgin_node_shows_the_wheel_and_the_pins(tmp_path: Path) -> None:
    shown = play(tmp_path, node_library="bundled", extras=["s3"], requirements=["lightning==2.6.6"])
    assert "changed=1" in shown, shown
    assert f"+node_library: gaudi3-scale[s3] @ file://{tmp_path}/opt/venv.wheels/{build().sha256}/" in shown
    assert "+pin: boto3==" in shown and "+pin: optuna==" not in shown
    assert not (tmp_path / "opt").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"node_library": "bundled", "extras": ["s4"]}, "extras has 's4', which the node library "),
        ({"node_library": "gaudi3-scale==0.1.0"}, "node_library 'gaudi3-scale==0.1.0' is not the location of a wheel"),
        ({"requirements": ["gaudi3-scale"]}, "requirements must not name gaudi3-scale"),
        ({"pins": ["numpy>=2"]}, "pins has 'numpy>=2'; write 'name==1.2'"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    shown = play(tmp_path, **arguments)
    assert sentence in shown and "Traceback" not in shown and "failed=1" in shown, shown
    assert not (tmp_path / "opt").exists()
