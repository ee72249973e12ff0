# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A site's own commands: a small scheduler of shell scripts that keeps a node's reason in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain.commands import DrainMark, fill, judge
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

MARK = DrainMark("node1", "gaudi3_scale: x #1", "2026-11-21T12:00:00+0000", complete=True, answer="yes")


@pytest.mark.parametrize(
    ("mark", "answer", "state", "drained_by"),
    [
        (None, None, "resumed", "nobody"),
        (MARK, None, "drained", "us"),
        (None, "", "resumed", "nobody"),
        (None, "bob: broken", "drained", "other"),
        (MARK, "yes", "drained", "us"),
        (MARK, "bob: broken", "drained", "other"),
        (MARK, "", "resumed", "us"),  # somebody took it back; our note is left to be removed
        (DrainMark("node1", "x", ""), None, "resumed", "us"),  # cut short: the command has to run again
        (DrainMark("node1", "x", ""), "yes", "resumed", "us"),
    ],
)
def test_note_and_answer_tell_whose_drain_it_is(
    mark: DrainMark | None, answer: str | None, state: str, drained_by: str
) -> None:
    found = judge(mark, answer)
    assert (found.state, found.drained_by) == (state, drained_by)


def test_only_our_two_placeholders_are_filled_and_never_twice() -> None:
    words = ["{node}", "x={reason}", "jsonpath={.spec.unschedulable}", "{other}"]
    assert fill(words, "n1", "{node} is hot") == ["n1", "x={node} is hot", "jsonpath={.spec.unschedulable}", "{other}"]


class Site:
    """Its scheduler keeps ``node1``'s reason in a file; an empty or missing file is a node in service."""

    def __init__(self, directory: Path) -> None:
        self.reason = directory / "reason"
        self.mark = directory / "state" / "node1.json"
        self.options: dict[str, Any] = {
            "node": "node1",
            "adapter": "commands",
            "reason": "driver 1.24.1",
            "drain_command": ["sh", "-c", 'printf %s "$1" > "$0"', str(self.reason), "{reason}"],
            "resume_command": ["rm", str(self.reason)],
            "query_command": ["sh", "-c", 'cat "$0" 2> /dev/null || true', str(self.reason)],
            "state_directory": str(self.mark.parent),
        }

    def call(self, state: str, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        result, status = call("node_drain", check_mode, **{**self.options, "state": state, **more})
        assert status == (1 if result.get("failed") else 0)
        return result


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_node_is_drained_found_again_and_given_back(site: Site) -> None:
    first = site.call("drained")
    assert (first["state"], first["drained_by"], first["changed"]) == ("drained", "us", True)
    assert site.reason.read_text() == first["reason"]
    assert first["reason"].startswith("gaudi3_scale: driver 1.24.1 #")
    again = site.call("drained", reason="another")
    assert again == {**first, "changed": False, "diff": [], "invocation": again["invocation"]}
    back = site.call("resumed")
    assert (back["state"], back["drained_by"], back["reason"], back["changed"]) == ("resumed", "nobody", "", True)
    assert not site.reason.exists()
    assert not site.mark.exists()
    assert site.call("resumed")["changed"] is False


def test_check_mode_runs_the_query_only(site: Site) -> None:
    foreseen = site.call("drained", check_mode=True)
    assert (foreseen["state"], foreseen["changed"]) == ("drained", True)
    assert not site.reason.exists()
    assert not site.mark.parent.exists()


@pytest.mark.parametrize("state", ["drained", "resumed"])
def test_somebody_elses_drain_stays(site: Site, state: str) -> None:
    site.reason.write_text("bob: broken disk\n")
    result = site.call(state)
    assert (result["drained_by"], result["reason"], result["changed"]) == ("other", "bob: broken disk", False)
    assert site.reason.read_text() == "bob: broken disk\n"
    assert not site.mark.exists()


def test_a_drain_that_was_taken_over_stays(site: Site) -> None:
    site.call("drained")
    site.reason.write_text("bob: I go on here\n")
    assert site.call("resumed")["drained_by"] == "other"
    assert site.reason.read_text() == "bob: I go on here\n"


def test_without_a_query_our_note_tells(site: Site) -> None:
    assert site.call("drained", query_command=[])["changed"] is True
    assert site.call("drained", query_command=[])["changed"] is False
    assert site.call("resumed", query_command=[])["changed"] is True
    assert site.call("resumed", query_command=[])["changed"] is False


def test_a_run_cut_short_drains_again(site: Site) -> None:
    site.call("drained")
    site.mark.write_text(json.dumps({**json.loads(site.mark.read_text()), "complete": False, "answer": ""}))
    again = site.call("drained")
    assert (again["changed"], again["drained_by"]) == (True, "us")
    assert json.loads(site.mark.read_text())["complete"] is True
    assert site.call("resumed")["changed"] is True


def test_a_failing_command_is_one_sentence_and_leaves_nothing(site: Site) -> None:
    failing = ["sh", "-c", "echo first >&2; echo no such queue >&2; exit 3"]
    result = site.call("drained", drain_command=failing)
    assert result["msg"] == (
        "The drain command `sh -c echo first >&2; echo no such queue >&2; exit 3` ended with status 3 (no such queue);"
        " correct it, or drain node1 by hand."
    )
    assert (result["rc"], site.mark.exists(), site.reason.exists()) == (3, False, False)


def test_a_failing_resume_keeps_the_drain_ours(site: Site) -> None:
    site.call("drained")
    result = site.call("resumed", resume_command=["false"])
    assert "`false` ended with status 1 (no message)" in result["msg"]
    assert site.call("drained")["drained_by"] == "us"


def test_a_failing_query_changes_nothing(site: Site) -> None:
    result = site.call("drained", query_command=["sh", "-c", "exit 2"])
    assert result["msg"].startswith("The query command")
    assert not site.reason.exists()


@pytest.mark.parametrize(("command", "said"), [("nowhere-to-be-found", "not installed"), ("/etc", "Permission denied")])
def test_a_command_that_cannot_be_run_is_named(site: Site, command: str, said: str) -> None:
    result = site.call("drained", drain_command=[command])
    assert f"`{command}`" in result["msg"]
    assert said in result["msg"]
    assert "\n" not in result["msg"]


def test_a_slow_command_is_ended(site: Site) -> None:
    result = site.call("drained", drain_command=["sleep", "30"], timeout=0.2)
    assert "ended with status 124 (sleep: timed out after 0.2 s)" in result["msg"]


def test_a_command_without_effect_is_told(site: Site) -> None:
    assert "still shows it as resumed" in site.call("drained", drain_command=["true"])["msg"]


def test_an_unreadable_note_stops_before_anything(site: Site) -> None:
    site.mark.parent.mkdir()
    site.mark.write_text("{")
    for state in ("drained", "resumed"):
        result = site.call(state)
        assert f"{site.mark} cannot be read as this collection's record of a drain" in result["msg"]
    assert not site.reason.exists()


def test_both_commands_are_needed(site: Site) -> None:
    assert "needs drain_command and resume_command" in site.call("drained", resume_command=[])["msg"]
