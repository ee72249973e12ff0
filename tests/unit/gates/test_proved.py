# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is recorded of a gate, by a repository of its own: what it held on, and when that is too long ago."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gates import proved
from tests.gates.gate import Gate
from tests.gates.proved import MOST_COMMITS, Proof, Standing, standing
from tests.gates.rotation import Queue, ordered

GATE = Gate("engines", "", (), covers=("engine", "list.py"))


class Checkout:
    """A repository with a file that the gate covers, and one that it does not."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.git("init", "--quiet")
        self.change("engine/one.py", "1")
        self.change("other.py", "1")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=Tests", "-c", "user.email=tests@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=self.place, check=True, capture_output=True)

    def change(self, path: str, text: str, *, commit: bool = True) -> None:
        (self.place / path).parent.mkdir(parents=True, exist_ok=True)
        (self.place / path).write_text(text)
        if commit:
            self.git("add", path)
            self.git("commit", "--quiet", "--message", f"{path} {text}")

    @property
    def digest(self) -> str:
        return proved.of_files(self.place, GATE.covers)

    def stands(self, proof: Proof | None) -> Standing:
        return standing(self.place, GATE, {GATE.name: proof} if proof else {})


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_files_that_lie_there_have_the_digest_of_the_commit_that_has_them(checkout: Checkout) -> None:
    assert next(proved.of_commits(checkout.place, GATE.covers)) == checkout.digest
    before = checkout.digest
    checkout.change("engine/two.py", "", commit=False)
    assert checkout.digest != before
    # One that is not there, and one whose name only begins so.
    checkout.change("engineers.py", "")
    checkout.git("add", "engine/two.py")
    checkout.git("commit", "--quiet", "--message", "two")
    assert next(proved.of_commits(checkout.place, GATE.covers)) == checkout.digest


def test_what_was_changed_under_is_overdue_after_ten_commits_and_not_before(checkout: Checkout) -> None:
    proof = Proof(checkout.digest, "2026-11-28 01:00", 60)
    checkout.change("other.py", "2")
    assert not checkout.stands(proof).is_changed
    checkout.change("engine/one.py", "2", commit=False)
    assert (checkout.stands(proof).is_changed, checkout.stands(proof).is_overdue) == (True, False)
    checkout.change("engine/one.py", "2")
    for number in range(MOST_COMMITS - 2):
        checkout.change("other.py", f"{number} more")
    assert (checkout.stands(proof).is_changed, checkout.stands(proof).is_overdue) == (True, False)
    checkout.change("other.py", "the last")
    assert (checkout.stands(proof).is_changed, checkout.stands(proof).is_overdue) == (True, True)
    assert "changed since, for 10 commits or more" in checkout.stands(proof).row()
    assert not checkout.stands(Proof(checkout.digest, "2026-11-28 02:00", 60)).is_changed


def test_a_merge_is_one_commit_of_the_branch_whatever_it_brings(checkout: Checkout) -> None:
    proof = Proof(checkout.digest, "2026-11-28 01:00", 60)
    for number in range(MOST_COMMITS):
        checkout.change("other.py", f"{number} before")
    checkout.git("checkout", "--quiet", "-b", "topic")
    for number in range(2 * MOST_COMMITS):
        checkout.change("engine/one.py", f"{number}")
    checkout.git("checkout", "--quiet", "-")
    checkout.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    assert (checkout.stands(proof).is_changed, checkout.stands(proof).is_overdue) == (True, False)


def test_a_record_of_a_commit_that_a_merge_brought_is_as_good_as_one_of_the_branch(checkout: Checkout) -> None:
    for number in range(MOST_COMMITS):
        checkout.change("other.py", f"{number} before")
    checkout.git("checkout", "--quiet", "-b", "topic")
    checkout.change("engine/one.py", "held")
    proof = Proof(checkout.digest, "2026-11-28 01:00", 60)
    checkout.change("engine/one.py", "changed again")
    checkout.git("checkout", "--quiet", "-")
    checkout.git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    for number in range(MOST_COMMITS - 1):
        assert (checkout.stands(proof).is_changed, checkout.stands(proof).is_overdue) == (True, False)
        checkout.change("other.py", f"{number} after")
    checkout.change("other.py", "the last")
    assert checkout.stands(proof).is_overdue


def test_a_record_stands_where_its_files_were_renamed(checkout: Checkout) -> None:
    proof = Proof(checkout.digest, "2026-11-28 01:00", 60, GATE.covers)
    checkout.git("mv", "engine", "engines")
    checkout.git("commit", "--quiet", "--message", "renamed")
    renamed = replace(GATE, covers=("engines", "list.py"))
    for number in range(MOST_COMMITS - 2):
        found = standing(checkout.place, renamed, {GATE.name: proof})
        assert (found.is_changed, found.is_overdue) == (True, False)
        checkout.change("other.py", f"{number} after")
    checkout.change("other.py", "the last")
    assert standing(checkout.place, renamed, {GATE.name: proof}).is_overdue


def test_one_that_never_held_is_overdue_once_the_record_is_ten_commits_old(checkout: Checkout) -> None:
    assert (checkout.stands(None).is_changed, checkout.stands(None).is_overdue) == (True, False)
    checkout.change(proved.PATH, "{}")
    for number in range(MOST_COMMITS):
        checkout.change("other.py", f"{number} more")
    assert not checkout.stands(None).is_overdue
    checkout.change(proved.PATH, '{"another": {}}')
    for number in range(MOST_COMMITS - 1):
        assert not checkout.stands(None).is_overdue
        checkout.change("other.py", f"{number} again")
    assert checkout.stands(None).is_overdue


def test_a_gate_that_is_new_has_ten_commits_to_hold(checkout: Checkout) -> None:
    checkout.change(proved.PATH, '{"another": {}}')
    checkout.change(proved.TABLE, '"another",')
    for number in range(MOST_COMMITS):
        checkout.change("other.py", f"{number} more")
    checkout.change(proved.TABLE, '"another", "engines",')
    for number in range(MOST_COMMITS - 1):
        assert not checkout.stands(None).is_overdue
        checkout.change("other.py", f"{number} again")
    assert checkout.stands(None).is_overdue


def test_a_shallow_clone_cannot_tell(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> None:
    proof = Proof("another", "2026-11-28 01:00", 60)
    for number in range(MOST_COMMITS):
        checkout.change("other.py", f"{number} more")
    assert checkout.stands(proof).is_overdue
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "3", f"file://{checkout.place}", shallow], check=True)
    assert not standing(shallow, GATE, {GATE.name: proof}).is_overdue


def test_a_record_of_one_gate_leaves_the_others(tmp_path: Path) -> None:
    record = tmp_path / "proved.json"
    assert proved.read(record) == {}
    one, two, three = (Proof(str(number), "2026-11-28 01:00", number, ("src",)) for number in range(3))
    proved.write("b", one, record)
    proved.write("a", two, record)
    proved.write("b", three, record)
    assert proved.read(record) == {"a": two, "b": three}


def stands(name: str, date: str = "", *, changed: bool = False, overdue: bool = False) -> Standing:
    return Standing(Gate(name, "", ()), Proof("", date, 10) if date else None, changed or not date, overdue)


def test_what_was_changed_comes_before_what_waited_longest_and_one_record_is_looked_at_again() -> None:
    there = [
        stands("yesterday", "2026-11-27"),
        stands("changed", "2026-11-28", changed=True),
        stands("never"),
        stands("long ago", "2026-10-01"),
    ]
    orders = [[one.gate.name for one in ordered(there, seed)] for seed in range(20)]
    assert {order[0] for order in orders} == {"yesterday", "long ago"}
    assert {tuple(order[1:3]) for order in orders} == {("never", "changed")}


def test_what_fails_the_run_unless_it_is_played_comes_before_all_else() -> None:
    late = stands("overdue", "2026-11-28", changed=True, overdue=True)
    there = [stands("held", "2026-11-27"), stands("changed", "2026-10-01", changed=True), late]
    assert {ordered(there, seed)[0].gate.name for seed in range(20)} == {"overdue"}


def test_a_gate_is_taken_once_by_a_lane_that_can_play_it_and_in_time() -> None:
    shared = Standing(Gate("shared", "", (), lane="nodes"), Proof("", "2026-11-28", 10), True, False)
    queue = Queue([stands("one", "2026-11-28"), shared], "nodes")
    assert queue.take("checkout", 13.9) is None
    taken = queue.take("checkout", 14.1)
    assert taken is not None and taken.name == "one"
    assert queue.take("checkout", 1000) is None
    taken = queue.take("nodes", 1000)
    assert taken is not None and taken.name == "shared"
