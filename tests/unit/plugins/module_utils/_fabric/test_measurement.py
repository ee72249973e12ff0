# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node tells of its networks, and what it keeps of a measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.measurement import (
    KEPT,
    MeasurementOptions,
    Measuring,
    Place,
    look,
)
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._fabric.test_state import Node

MEASUREMENT = {"key": "a1", "time": "2026-11-25T06:00:00Z", "rows": []}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def looked(node: Node, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    venv = str(node.root / "venv")
    place = Place(str(node.kernel), str(node.root))
    return look(MeasurementOptions(measuring=Measuring(venv=venv), **options), node.run, check_mode, place)


def test_what_is_there(node: Node) -> None:
    node.load()
    (node.root / "venv/lib/python3.11/site-packages/gaudi3_scale-0.1.0.dist-info").mkdir(parents=True)
    found = looked(node)
    assert (found["provider"], found["cards"], found["links"], found["library"]) == ("gaudi_ethernet", 2, 0, "0.1.0")
    assert [one["provider"] for one in found["networks"]] == ["gaudi_ethernet", "infiniband", "roce", "efa", "ethernet"]
    assert (found["changed"], found["measurement"]) == (False, {})


def test_a_measurement_is_kept_once_and_not_in_check_mode(node: Node) -> None:
    assert looked(node, measurement=MEASUREMENT, check_mode=True)["changed"]
    assert not (node.root / KEPT).exists()
    assert looked(node, measurement=MEASUREMENT)["measurement"] == MEASUREMENT
    assert not looked(node, measurement=MEASUREMENT)["changed"]
    assert looked(node)["measurement"] == MEASUREMENT


@pytest.mark.parametrize("text", ["", "no", "[]", "{" * 9000, json.dumps("x")])
def test_a_file_that_is_none_of_ours_is_no_measurement(node: Node, text: str) -> None:
    kept = node.root / KEPT
    kept.parent.mkdir(parents=True)
    kept.write_text(text)
    assert looked(node)["measurement"] == {}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"provider": "myrinet"}, "provider='myrinet' is not known"), ({"interface": "-x y"}, "interface")],
)
def test_bad_options_are_refused(node: Node, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        looked(node, **options)
