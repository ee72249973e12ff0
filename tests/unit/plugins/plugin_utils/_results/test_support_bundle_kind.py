# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The page of support bundles: a row for each node, also for one that answers nothing, or nothing that can be used."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.support_bundle_kind import (
    COLLECTED,
    support_bundle_kind,
)


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "source": "hl-smi", "bytes": 2000, "cut": False, "hidden": 1, "why": "", **more}


CONTENTS = [item("cards/hl-smi.txt"), item("kernel/dkms.txt", bytes=0, hidden=0, why="dkms: not installed")]
STORED = {"contents": CONTENTS, "file": "/r/support-n1.tar.gz", "size": 5000, "error": ""}


def made(check_mode: bool = False, **results: dict[str, Any]) -> Made:
    hosts = {host: {COLLECTED: result} if result else {} for host, result in results.items()}
    return support_bundle_kind(Asked(hosts, {}, check_mode))


def test_each_node_has_a_row_and_each_file_one() -> None:
    found = made(n1=STORED, n2={**STORED, "file": "/r/support-n2.tar.gz"}, n3={"unreachable": True, "msg": "timed out"})
    assert [row["state"] for row in found.options["rows"]] == ["collected", "collected", "unreachable"]
    assert found.options["rows"][0]["KiB of archive"] == "5" and found.options["rows"][0]["secrets hidden"] == 1
    inside, missing = found.options["sections"]
    assert [(row["file"], row["nodes"], row["KiB"]) for row in inside["rows"]] == [("cards/hl-smi.txt", 2, "2")]
    assert not inside["on_screen"]
    assert missing["rows"] == [{"file": "kernel/dkms.txt", "nodes": "n1, n2", "why": "dkms: not installed"}]
    assert found.outcome["numbers"] == {"bytes": 10000} and found.reasons == {"n3": "timed out"}
    assert found.refusal == ""


def test_check_mode_shows_what_would_be_in_them() -> None:
    found = made(check_mode=True, n1={"contents": CONTENTS})
    assert (found.options["rows"][0]["state"], found.options["sections"][0]["on_screen"]) == ("listed", True)
    assert "nothing was stored" in found.options["title"]


def test_where_no_node_has_one_the_run_fails_with_the_first_reason() -> None:
    found = made(n1={"msg": "gaudi_support_max_mib is 0; give 1 to 48"}, n2={})
    assert found.refusal == "No node returned a bundle: n1: gaudi_support_max_mib is 0; give 1 to 48"
    assert made().refusal.endswith("gaudi_hosts matches no host.")


def test_a_target_that_failed_is_told_and_what_no_node_of_ours_says_is_not_used() -> None:
    found = made(n1={**STORED, "error": "it is kept in /tmp/x"}, n2={"contents": [item("x", bytes="many")]})
    assert found.options["notes"][0] == "n1: it is kept in /tmp/x"
    assert [row["state"] for row in found.options["rows"]] == ["collected", "failed"]
    assert "invalid result" in (found.reasons or {})["n2"]
