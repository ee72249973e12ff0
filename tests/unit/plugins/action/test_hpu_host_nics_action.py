# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How the controller has one node build, and brings what was built to each node that lacks it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.action.hpu_host_nics import ActionModule

KEY, CONTENT = "0123456789abcdef0123", b"built"
SHA = hashlib.sha256(CONTENT).hexdigest()
LACKS = {"changed": True, "diff": [{"after": "rdma-core\n"}], "stack": {"installed": ["rdma-core"]},
         "libfabric": {"key": KEY, "installed": False}}  # fmt: skip
HAS = {"changed": False, "diff": [], "stack": {"installed": []}, "libfabric": {"key": KEY, "installed": True}}
INSTALLED = {**HAS, "changed": True, "diff": [{"after": "libfabric\n"}]}
BUILT = {"changed": True, "built": {"key": KEY, "path": "/tmp/x/built.tar.gz", "sha256": SHA, "size": 5}}


class Node(ActionModule):
    """The action before a node that answers one module call after the other."""

    def __init__(
        self, arguments: dict[str, Any], *answers: dict[str, Any], run: str = "run1", check: bool = False
    ) -> None:
        self._task = SimpleNamespace(
            args=arguments, _uuid=run, check_mode=check, action="gaudi3.scale.hpu_host_nics", _role=None
        )
        shell = SimpleNamespace(tmpdir=None, join_path=lambda *parts: "/".join(parts))
        self._connection = SimpleNamespace(_shell=shell, fetch_file=self.fetch)
        self.answers, self.calls, self.brought = list(answers), [], {}

    def _execute_module(self, module_name: str, module_args: dict[str, Any], **_more: Any) -> dict[str, Any]:
        self.calls.append(dict(module_args))
        return self.answers.pop(0)

    def _make_tmp_path(self, remote_user: Any = None) -> str:
        self._connection._shell.tmpdir = "/tmp/x"
        return "/tmp/x"

    def _transfer_file(self, local_path: str, remote_path: str) -> str:
        self.brought[remote_path] = Path(local_path).read_bytes()
        return remote_path

    def _fixup_perms2(self, *_paths: Any, **_more: Any) -> None:
        """Nothing to do here."""

    def fetch(self, remote: str, local: str) -> None:
        assert remote == BUILT["built"]["path"]
        Path(local).write_bytes(CONTENT)


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    (tmp_path / "l.tar").write_bytes(b"sources")
    return {
        "provider": "roce",
        "libfabric_archive": str(tmp_path / "l.tar"),
        "libfabric_directory": str(tmp_path / "cache"),
    }


def run(node: Node, host: str = "node1") -> dict[str, Any]:
    return node.run(task_vars={"inventory_hostname": host})


@pytest.mark.parametrize(
    "answer", [HAS, {"changed": False, "libfabric": {"key": "", "installed": False}}, {"failed": True, "msg": "no"}]
)
def test_a_node_that_lacks_nothing_costs_one_module_call_and_no_file(
    arguments: dict[str, Any], answer: dict[str, Any]
) -> None:
    node = Node(arguments, answer)
    done = run(node)
    assert answer.items() <= done.items() and {*done} - {*answer} <= {"see"}
    assert node.calls == [arguments] and node.brought == {} and node._connection._shell.tmpdir is None


def test_check_mode_builds_nothing(arguments: dict[str, Any]) -> None:
    node = Node(arguments, LACKS, check=True)
    assert run(node) == LACKS and len(node.calls) == 1


def test_the_first_node_builds_and_the_others_get_what_it_built(arguments: dict[str, Any]) -> None:
    first = Node(arguments, LACKS, BUILT, INSTALLED)
    done = run(first)
    assert done["changed"] and done["diff"] == [*LACKS["diff"], *INSTALLED["diff"]]
    assert done["stack"] == LACKS["stack"] and done["libfabric"]["installed"]
    asked, built, installed = first.calls
    assert built == {**asked, "libfabric_archive_file": "/tmp/x/libfabric_archive-l.tar", "build_into": "/tmp/x"}
    assert installed == {**asked, "built_archive": f"/tmp/x/built-{KEY}.tar.gz", "built_checksum": SHA}
    assert first.brought == {"/tmp/x/libfabric_archive-l.tar": b"sources", f"/tmp/x/built-{KEY}.tar.gz": CONTENT}
    # Also in another run, with other forks.
    second = Node(arguments, LACKS, INSTALLED, run="run2")
    assert run(second, "node2")["changed"]
    assert second.brought == {f"/tmp/x/built-{KEY}.tar.gz": CONTENT}
    assert second.calls[1]["built_checksum"] == SHA


def test_sources_of_a_url_are_the_nodes_to_fetch(arguments: dict[str, Any]) -> None:
    node = Node({**arguments, "libfabric_archive": "https://mirror.example.com/l.tar"}, LACKS, BUILT, INSTALLED)
    run(node)
    assert "libfabric_archive_file" not in node.calls[1]


def test_a_build_that_fails_is_not_tried_on_each_node(arguments: dict[str, Any]) -> None:
    reason = "libfabric is not built: make ended with 2."
    first = run(Node(arguments, LACKS, {"failed": True, "msg": reason, "log": ["x.c:1: error"]}))
    assert (first["failed"], first["msg"], first["log"]) == (True, reason, ["x.c:1: error"])
    other = Node(arguments, LACKS)
    assert run(other, "node2")["msg"] == f"libfabric was not copied here because its build failed on node1: {reason}"
    assert len(other.calls) == 1
    # The next run tries again.
    assert run(Node(arguments, LACKS, BUILT, INSTALLED, run="run2"))["libfabric"]["installed"]


def test_an_archive_that_the_controller_lacks_is_named(arguments: dict[str, Any]) -> None:
    done = run(Node({**arguments, "libfabric_archive": "/nowhere/l.tar"}, LACKS))
    assert (
        done["failed"]
        and done["msg"] == "/nowhere/l.tar is not a file on the controller; correct the option of the archive."
    )


def test_a_directory_that_takes_no_file_is_named(arguments: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    done = run(Node(arguments, LACKS))
    assert done["failed"] and done["msg"].startswith(f"{tmp_path}/cache: File exists; set libfabric_directory")


def test_an_answer_that_is_no_build_is_a_failure(arguments: dict[str, Any]) -> None:
    done = run(Node(arguments, LACKS, {"changed": False}))
    assert done["failed"] and done["msg"] == "the module returned no result"


def test_what_a_node_says_that_it_built_is_what_is_fetched(arguments: dict[str, Any]) -> None:
    lying = {"built": {**BUILT["built"], "sha256": "0" * 64}}
    done = run(Node(arguments, LACKS, lying))
    assert done["failed"] and "What node1 built reached the controller with the SHA-256" in done["msg"]
