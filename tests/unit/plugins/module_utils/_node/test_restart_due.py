# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.restart_due import due, keep


class Node:
    def __init__(self, root: Path) -> None:
        self.kernel, self.state = root / "kernel", str(root / "state")
        self.start("first")

    def start(self, boot_id: str) -> None:
        file = self.kernel / "proc/sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{boot_id}\n", encoding="utf-8")

    def keep(self, layer: str, *reasons: str) -> None:
        keep(layer, reasons, self.state, str(self.kernel))

    def due(self) -> list[str]:
        return due(self.state, str(self.kernel))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_what_layers_want_is_due_until_the_node_was_started(node: Node) -> None:
    assert node.due() == []
    node.keep("host", "no iommu=pt", "no cstates")
    node.keep("efa", "another module is loaded")
    assert node.due() == ["another module is loaded", "no iommu=pt", "no cstates"]
    node.start("second")
    assert node.due() == []


def test_a_layer_takes_back_what_it_said(node: Node) -> None:
    node.keep("host", "no iommu=pt")
    node.keep("efa", "another module is loaded")
    node.keep("host")
    assert node.due() == ["another module is loaded"]


@pytest.mark.parametrize("text", ["", "[]", '{"boot_id": "first"}', '{"boot_id": "first", "reasons": [7, null]}'])
def test_a_note_that_nobody_can_read_is_none(node: Node, text: str) -> None:
    node.keep("host", "no iommu=pt")
    Path(node.state, "restart_due/host.json").write_text(text, encoding="utf-8")
    assert node.due() == []
