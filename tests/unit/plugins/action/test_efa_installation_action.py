# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller refuses of the site's archive, and to which nodes it brings it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action.efa_installation import ActionModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS

MISSING = {"failed": True, "msg": "…", "missing_archive": "…"}


class Node(ActionModule):
    """The action before a node that answers one module call after the other."""

    def __init__(self, arguments: dict[str, Any], *answers: dict[str, Any], check_mode: bool = False) -> None:
        self._task = SimpleNamespace(
            args=arguments, check_mode=check_mode, action="gaudi3.scale.efa_installation", _role=None
        )
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


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "aws-efa-installer-1.34.0.tar.gz"
    file.write_bytes(b"archive")
    digest = hashlib.sha256(b"archive").hexdigest()
    return {"release": "1.21.3", "version": "1.34.0", "archive": str(file), "checksum": f"sha256:{digest}"}


def test_a_node_that_has_it_costs_one_module_call_and_no_file(run: Any, arguments: dict[str, Any]) -> None:
    node = Node(arguments, {"changed": False})
    assert run(node) == {"changed": False}
    assert node.calls == [arguments]
    assert node.brought == {} and node._connection._shell.tmpdir is None


def test_a_node_that_lacks_it_gets_it_and_the_module_runs_again(run: Any, arguments: dict[str, Any]) -> None:
    node = Node(arguments, MISSING, {"changed": True})
    assert run(node) == {"changed": True}
    target = "/home/operator/.ansible/tmp/x/aws-efa-installer.tar.gz"
    assert node.brought == {target: b"archive"}
    assert node.calls == [arguments, {**arguments, "archive_file": target}]


def test_an_archive_that_is_not_on_the_controller(run: Any, arguments: dict[str, Any]) -> None:
    Path(arguments["archive"]).unlink()
    node = Node(arguments)
    answer = run(node)
    assert answer["failed"] and f"archive {arguments['archive']} is not a file on the controller" in answer["msg"]
    assert node.calls == []


def test_a_wrong_checksum_is_found_before_anything_is_sent(run: Any, arguments: dict[str, Any]) -> None:
    wrong = {**arguments, "checksum": "sha256:" + "0" * 64}
    node = Node(wrong, MISSING)
    answer = run(node)
    assert answer["failed"] and answer["sha256"] == arguments["checksum"].partition(":")[2]
    assert "checksum is 000" in answer["msg"] and node.brought == {}


def test_check_mode_compares_the_checksum_where_the_node_would_change(run: Any, arguments: dict[str, Any]) -> None:
    wrong = {**arguments, "checksum": "sha256:" + "0" * 64}
    assert run(Node(wrong, {"changed": True}, check_mode=True))["failed"]
    assert run(Node(arguments, {"changed": True}, check_mode=True)) == {"changed": True}
    # A node that has the version costs the controller nothing.
    assert run(Node(wrong, {"changed": False}, check_mode=True)) == {"changed": False}


@pytest.mark.parametrize("archive", [None, "", "https://mirror.site/efa.tar.gz", "efa.tar.gz"])
def test_what_is_no_file_of_the_controller_s_is_the_module_s_business(
    run: Any, arguments: dict[str, Any], archive: str | None
) -> None:
    given = {**arguments, "archive": archive}
    node = Node(given, {"failed": True, "msg": "no"})
    assert run(node) == {"failed": True, "msg": "no", "see": f"docs/efa.md in {ADDRESS}"}
    assert node.calls == [given] and node.brought == {}


@pytest.fixture
def both(arguments: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """The site's options with the sources of HCCL's wrapper."""
    file = tmp_path / "wrapper.tar.gz"
    file.write_bytes(b"sources")
    digest = hashlib.sha256(b"sources").hexdigest()
    return {**arguments, "ofi_wrapper_archive": str(file), "ofi_wrapper_checksum": f"sha256:{digest}"}


ASKS_FOR_SOURCES = {"failed": True, "msg": "…", "missing_ofi_wrapper_archive": "…"}


def test_a_node_gets_each_archive_that_it_asks_for_once(run: Any, both: dict[str, Any]) -> None:
    node = Node(both, ASKS_FOR_SOURCES, MISSING, {"changed": True})
    assert run(node) == {"changed": True}
    top = "/home/operator/.ansible/tmp/x"
    assert node.brought == {f"{top}/hccl_ofi_wrapper.tar.gz": b"sources", f"{top}/aws-efa-installer.tar.gz": b"archive"}
    assert node.calls[-1]["ofi_wrapper_archive_file"] == f"{top}/hccl_ofi_wrapper.tar.gz"
    # A node that goes on asking is no loop.
    see = {"see": "docs/efa.md in https://github.com/gaudi3-scale/gaudi3.scale"}
    assert run(Node(both, ASKS_FOR_SOURCES, ASKS_FOR_SOURCES)) == {**ASKS_FOR_SOURCES, **see}


def test_the_sources_of_the_wrapper_are_checked_before_they_are_sent(run: Any, both: dict[str, Any]) -> None:
    wrong = {**both, "ofi_wrapper_checksum": "sha256:" + "0" * 64}
    for node in (Node(wrong, ASKS_FOR_SOURCES), Node(wrong, {"changed": True}, check_mode=True)):
        answer = run(node)
        assert "gaudi_fabric_ofi_wrapper_checksum is another one" in answer["msg"] and node.brought == {}
    Path(both["ofi_wrapper_archive"]).unlink()
    said = run(Node(both))["msg"]
    assert "put the sources of hccl_ofi_wrapper there" in said and "(gaudi_fabric_ofi_wrapper_archive)" in said
