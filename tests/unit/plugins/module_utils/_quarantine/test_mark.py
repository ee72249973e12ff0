# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._quarantine.mark import (
    QUARANTINED,
    RELEASED,
    Mark,
    converge,
    read_mark,
    refuse_quarantined,
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "quarantine.json")


def test_a_node_without_a_mark_is_in_service(path):
    assert read_mark(path) == Mark()
    refuse_quarantined(path)
    assert not converge(RELEASED, "", False, path)["changed"]


def test_a_node_is_marked_once_and_keeps_its_first_reason(path):
    made = converge(QUARANTINED, "card 3", False, path)
    assert made["changed"] and made["quarantined"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(made["since"]))
    again = converge(QUARANTINED, "another", False, path)
    assert (again["changed"], again["reason"], again["since"]) == (False, "card 3", made["since"])


def test_check_mode_shows_the_mark_and_makes_none(path):
    foreseen = converge(QUARANTINED, "card 3", True, path)
    assert foreseen["changed"] and "card 3" in foreseen["diff"][0]["after"]
    assert read_mark(path) == Mark()


def test_a_node_is_released(path):
    converge(QUARANTINED, "card 3", False, path)
    assert converge(RELEASED, "", False, path)["changed"]
    assert read_mark(path) == Mark()


def test_a_launch_is_told_why_and_how_it_ends(path):
    converge(QUARANTINED, "card 3 is to be replaced.", False, path)
    with pytest.raises(GaudiError, match=r"^it is in quarantine since \S+Z: card 3 is to be replaced; release it by"):
        refuse_quarantined(path)


@pytest.mark.parametrize("text", ["", "no json", "[]", json.dumps({"reason": 7})])
def test_a_file_that_is_none_of_ours_keeps_a_node_out_all_the_same(path, text):
    Path(path).write_text(text)
    with pytest.raises(GaudiError, match="in quarantine since an unknown time"):
        refuse_quarantined(path)
