# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.reasons import HIDDEN, alike, brief, reason_of

SSH = 'Data could not be sent to remote host "10.0.0.1". Make sure this host can be reached over ssh: '


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"msg": "no disk"}, "no disk"),
        ({"msg": "two\n  lines\t \x1b[31mred"}, "two lines [31mred"),
        ({"msg": ["one", "two"]}, "one; two"),
        # Each page is told once, at the end of the screen.
        ({"msg": f"no disk; add one. See docs/storage.md in {ADDRESS}."}, "no disk; add one."),
        ({"msg": f"no disk. See docs/storage.md in {ADDRESS}. Report: /a.html"}, "no disk. Report: /a.html"),
        ({"msg": "See docs/storage.md in /media."}, "See docs/storage.md in /media."),
        ({"msg": {"a": 1}}, "{'a': 1}"),
        ({"msg": "Task failed: Module failed: no disk"}, "no disk"),
        ({"msg": "Failed to connect to the host via ssh: No route to host"}, "No route to host"),
        ({"msg": "non-zero return code", "stderr": "warning\nE: no space\n\n"}, "non-zero return code: E: no space"),
        ({"msg": "non-zero return code", "stdout": "said it here"}, "non-zero return code: said it here"),
        ({"msg": "MODULE FAILURE: see", "module_stderr": "ValueError: 1"}, "MODULE FAILURE: see: ValueError: 1"),
        ({"reason": "no such file inc.yml"}, "no such file inc.yml"),
        ({"stderr": "only this"}, "only this"),
        ({}, "it gave no reason"),
        ({"msg": ""}, "it gave no reason"),
        ({"censored": "…", "msg": "secret"}, HIDDEN),
        ({"msg": "secret", "_ansible_no_log": True}, HIDDEN),
    ],
)
def test_the_reason_is_one_line(result: dict[str, Any], reason: str) -> None:
    assert reason_of(result) == reason


def test_of_a_loop_the_first_item_that_failed_says_why() -> None:
    items = [
        {"item": "a"},
        {"item": "b", "failed": True, "msg": "no b"},
        {"item": "c", "failed": True, "msg": "no c"},
        "no mapping",
    ]
    assert reason_of({"msg": "One or more items failed", "results": items}) == "2 of 3 items, first b: no b"


def test_of_an_item_that_is_not_logged_neither_its_name_nor_its_words_are_shown() -> None:
    item = {"item": "secret", "_ansible_item_label": "secret", "failed": True, "msg": "secret", "_ansible_no_log": True}
    assert reason_of({"msg": "failed", "results": [item]}) == f"1 of 1 items: {HIDDEN}"


@pytest.mark.parametrize(
    ("reason", "names", "shared"),
    [
        ("node1: no disk", ["node1"], "HOST: no disk"),
        ("node10 and node1.", ["node1"], "node10 and HOST."),
        ("node1.lab and node1-ib", ["node1"], "node1.lab and node1-ib"),
        ("connect to host 10.0.0.1 port 22", ["n", "10.0.0.1"], "connect to host HOST port 22"),
        ("10.0.0.11", ["10.0.0.1"], "10.0.0.11"),
        # A name of one character is in too many words.
        ("a disk", ["a"], "a disk"),
    ],
)
def test_a_host_s_own_name_is_no_part_of_what_it_shares(reason: str, names: list[str], shared: str) -> None:
    assert alike(reason, names) == shared


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        ("ssh: connect to host HOST port 22: No route to host", "No route to host"),
        (
            f"{SSH}ssh: connect to host 10.0.0.1 port 22: Connection refused",
            "Connection refused",
        ),
        ("no disk", "no disk"),
    ],
)
def test_in_the_table_ssh_says_why_alone(reason: str, short: str) -> None:
    assert brief(reason) == short
