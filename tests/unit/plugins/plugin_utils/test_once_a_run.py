# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._once_a_run import once_a_run

KNOWN = {"main": {"options": ["disk_size"]}}


class Making:
    """Counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return KNOWN


def test_it_is_made_once_a_run_and_nothing_else_is_left(tmp_path):
    make = Making()
    assert [once_a_run(tmp_path, "disk", make) for _host in range(3)] == [KNOWN] * 3
    assert make.asked == 1
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".lock"]


def test_what_is_about_something_else_is_made_of_its_own(tmp_path):
    make = Making()
    for about in ("/one/disk", "/other/disk"):
        once_a_run(tmp_path, about, make)
    assert make.asked == 2


@pytest.mark.parametrize("kept", ["", "{", "\0"])
def test_what_cannot_be_read_there_is_made_again(tmp_path, kept):
    make = Making()
    once_a_run(tmp_path, "disk", make)
    (file,) = tmp_path.glob("*.json")
    file.write_text(kept)
    assert once_a_run(tmp_path, "disk", make) == once_a_run(tmp_path, "disk", make) == KNOWN
    assert make.asked == 2


def test_a_folder_that_is_gone_costs_time_and_nothing_else(tmp_path):
    assert once_a_run(tmp_path / "gone", "disk", Making()) == KNOWN


def test_what_cannot_be_made_is_told_and_not_kept(tmp_path):
    with pytest.raises(ZeroDivisionError):
        once_a_run(tmp_path, "disk", lambda: 1 / 0)
    assert not [*tmp_path.glob("*.json")]


def test_all_that_ask_at_once_have_it_from_the_first(tmp_path):
    made = []

    def make():
        made.append(1)
        time.sleep(0.2)
        return KNOWN

    with ThreadPoolExecutor(8) as hosts:
        assert [*hosts.map(lambda _host: once_a_run(tmp_path, "disk", make), range(8))] == [KNOWN] * 8
    assert made == [1]
