# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The specification of the cards for CDI: its text, what it leaves out, and somebody else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.cdi import (
    CardNodes,
    card_nodes,
    device_names,
    refuse_foreign,
    specification,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

from .kernel_with_cards import make_cards


def test_the_specification_of_two_cards() -> None:
    cards = (CardNodes(0, ("/dev/accel/accel0",)), CardNodes(1, ("/dev/accel/accel1", "/dev/infiniband/uverbs3")))
    text = specification(cards)
    assert text is not None
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "cdiVersion": "0.5.0",
        "kind": "habana.ai/gaudi",
        "devices": [
            {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/accel/accel0"}]}},
            {
                "name": "1",
                "containerEdits": {"deviceNodes": [{"path": "/dev/accel/accel1"}, {"path": "/dev/infiniband/uverbs3"}]},
            },
            {
                "name": "all",
                "containerEdits": {
                    "deviceNodes": [
                        {"path": "/dev/accel/accel0"},
                        {"path": "/dev/accel/accel1"},
                        {"path": "/dev/infiniband/uverbs3"},
                    ]
                },
            },
        ],
    }
    assert device_names(cards) == ["habana.ai/gaudi=0", "habana.ai/gaudi=1", "habana.ai/gaudi=all"]


def test_without_cards_there_is_no_specification(tmp_path: Path) -> None:
    assert card_nodes(str(tmp_path)) == ()
    assert specification(()) is None
    assert device_names(()) == []


def test_cards_come_by_index_with_the_verbs_device_of_their_own(tmp_path: Path) -> None:
    make_cards(tmp_path, 12)
    cards = card_nodes(str(tmp_path))
    assert [card.index for card in cards] == list(range(12))
    assert cards[10].paths == ("/dev/accel/accel10", "/dev/accel/accel_controlD10", "/dev/infiniband/uverbs11")


def test_a_node_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    make_cards(tmp_path, 1)
    (tmp_path / "dev/infiniband/uverbs1").unlink()
    assert card_nodes(str(tmp_path))[0].paths == ("/dev/accel/accel0", "/dev/accel/accel_controlD0")


def test_another_kernel_root_is_where_the_nodes_are_on_the_node() -> None:
    text = specification((CardNodes(0, ("/dev/accel/accel0",)),), "/var/k")
    (device, _all) = json.loads(text or "")["devices"]
    assert device["containerEdits"]["deviceNodes"] == [
        {"path": "/dev/accel/accel0", "hostPath": "/var/k/dev/accel/accel0"}
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vendor.json", '{"cdiVersion":"0.6.0","kind":"habana.ai/gaudi","devices":[]}'),
        ("vendor.yaml", "cdiVersion: 0.6.0\nkind: habana.ai/gaudi\ndevices: []\n"),
        ("vendor.yml", "kind: 'habana.ai/gaudi'\n"),
    ],
)
def test_somebody_elses_specification_of_our_kind_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(GaudiError, match=rf"{name} describes devices of the kind habana.ai/gaudi already"):
        refuse_foreign((str(tmp_path / "missing"), str(tmp_path)), str(tmp_path / "ours.json"))
    assert (tmp_path / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ours.json", '{"kind": "habana.ai/gaudi"}'),
        ("other.json", '{"kind": "habana.ai/gaudi-nic"}'),
        ("other.yaml", "kind: example.org/habana.ai/gaudi\n"),
        ("note.txt", "kind: habana.ai/gaudi\n"),
        ("broken.json", "{"),
    ],
)
def test_other_files_are_none_of_our_business(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    refuse_foreign((str(tmp_path),), str(tmp_path / "ours.json"))
