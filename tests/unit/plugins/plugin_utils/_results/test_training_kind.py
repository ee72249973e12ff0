# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_kind import INFO, training_kind

LAUNCHES = {"n1": {"engine": "torchrun", "file": "/etc/systemd/system/x.service"}, "n2": "nothing"}
GIVEN = {"job": "llama", "would_start": LAUNCHES, "command": ["-m", "mine.train", "--note", "a b", "--token", "s3cret"]}
HOSTS = {node: {"inventory_hostname": node, INFO: {"state": "absent"}} for node in LAUNCHES}


def test_a_check_of_a_launch_says_what_would_be_started_and_shows_no_empty_table():
    made = training_kind(Asked(HOSTS, GIVEN, True))
    assert made.options["title"] == (
        "Job llama: would be started on 2 host(s); this was a check, and nothing was started"
    )
    assert [row["file"] for row in made.options["rows"]] == ["/etc/systemd/system/x.service", "-"]
    assert made.options["notes"][0].startswith("each rank would run -m mine.train --note 'a b' --token ")
    assert "s3cret" not in str(made.options)
    assert (made.outcome["ok"], made.refusal) == (True, "")


@pytest.mark.parametrize(("given", "check_mode"), [({**GIVEN, "would_start": {}}, True), (GIVEN, False)])
def test_what_runs_is_shown_as_it_stands(given, check_mode):
    assert training_kind(Asked(HOSTS, given, check_mode)).options["title"] == "Job llama: absent"
