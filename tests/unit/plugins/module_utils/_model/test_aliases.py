# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._model.aliases import (
    Move,
    move_alias,
    numbers_of,
    read_alias,
    read_move,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process

MOVERS = 100


@pytest.fixture
def count(place):
    """Fewer at a bucket, since all that moto answers is made by this process as well."""
    return MOVERS if place.startswith("/") else MOVERS // 4


def version(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def move_until_done(store, number):
    """Each mover goes from what it read, and looks again where somebody was faster; how often that was."""
    for attempt in range(10 * MOVERS):
        before = read_alias(store, "llama", "production")
        try:
            move_alias(store, "llama", before, Move(version(number), before.version, str(number), "now"))
        except GaudiError as error:
            assert "was moved meanwhile" in str(error)
            # Else most of the time is spent on all the others' attempts.
            time.sleep(random.uniform(0, 0.2 * min(attempt + 1, 10)))
        else:
            return attempt
    raise AssertionError(number)


def chain(store):
    numbers = numbers_of(store, "llama", "production")
    assert numbers == list(range(1, len(numbers) + 1))
    return [read_move(store, "llama", "production", number) for number in numbers]


@pytest.mark.in_turn
def test_of_a_hundred_movers_at_once_no_move_is_lost(store, count):
    barrier = threading.Barrier(count)

    def move(number):
        barrier.wait()
        return move_until_done(store, number)

    with ThreadPoolExecutor(count) as movers:
        list(movers.map(move, range(count)))
    moves = chain(store)
    # Each is there once, and each began at the one before it.
    assert sorted(move.version for move in moves) == sorted(map(version, range(count)))
    assert [move.before for move in moves] == ["", *(move.version for move in moves[:-1])]


@pytest.mark.in_turn
def test_of_a_hundred_who_move_from_the_same_one_has_it(store, count):
    before = read_alias(store, "llama", "production")
    barrier = threading.Barrier(count)

    def move(number):
        barrier.wait()
        try:
            return move_alias(store, "llama", before, Move(version(number), "", str(number), "now"))
        except GaudiError as error:
            return str(error)

    with ThreadPoolExecutor(count) as movers:
        told = list(movers.map(move, range(count)))
    assert told.count(True) == 1
    winner = told.index(True)
    assert read_alias(store, "llama", "production").version == version(winner)
    sentence = (
        f"The alias production of llama was moved meanwhile: it names {version(winner)[:12]} since now, by {winner}, "
        f"so it was left there; look at that version, and move it from there (expected: {version(winner)[:12]}) if it "
        "still has to be."
    )
    assert {one for one in told if one is not True} == {sentence}


PROGRAM = """
import sys
sys.path[:0] = [{root!r}, {root!r} + "/.collections"]
from ansible_collections.gaudi3.scale.plugins.module_utils._model.registry import open_store
from tests.unit.plugins.module_utils._model.test_aliases import move_until_done
for number in range(int(sys.argv[1]), int(sys.argv[1]) + 10):
    move_until_done(open_store({place!r}), number)
"""


@pytest.mark.parametrize("place", ["directory"], indirect=True)
def test_movers_in_processes_of_their_own_lose_nothing_either(place, store):
    root = str(Path(__file__).parents[5])
    program = PROGRAM.format(root=root, place=place)
    started = [subprocess.Popen([sys.executable, "-c", program, str(number)], cwd=root) for number in range(0, 50, 10)]
    assert [process.wait(120) for process in started] == [0] * 5
    moves = chain(store)
    assert sorted(move.version for move in moves) == sorted(map(version, range(50)))
    assert [move.before for move in moves] == ["", *(move.version for move in moves[:-1])]


def test_an_alias_that_somebody_moved_is_left_where_it_is(options, exported, store):
    first = converge(options(path=str(exported), alias="production"), run_process, False)["version"]
    (exported / "config.json").write_text("{}")
    second = converge(options(path=str(exported), alias="production", expected=first[:12]), run_process, False)
    assert second["alias_before"] == first
    other = second["version"][:12]
    with pytest.raises(GaudiError, match=rf"^The alias production of llama was moved meanwhile: it names {other}"):
        converge(options(version=first, alias="production", expected=first), run_process, False)
    with pytest.raises(GaudiError, match=r"was moved meanwhile"):
        converge(options(version=first, alias="production", expected="none"), run_process, False)
    assert read_alias(store, "llama", "production").version == second["version"]
    with pytest.raises(GaudiError, match=r"^The alias candidate of llama is not set, so it was not moved; if it is to"):
        converge(options(version=first, alias="candidate", expected=first), run_process, False)
    assert converge(options(version=first, alias="production", expected=second["version"]), run_process, False)["moved"]


def test_the_same_again_is_no_move(options, exported, store):
    wanted = options(path=str(exported), alias="candidate", expected="none")
    assert converge(wanted, run_process, False)["moved"]
    assert numbers_of(store, "llama", "candidate") == [1]
    assert not converge(wanted, run_process, False)["moved"]
    assert not converge(options(path=str(exported), alias="candidate"), run_process, False)["moved"]
    assert numbers_of(store, "llama", "candidate") == [1]


@pytest.mark.parametrize("place", ["directory"], indirect=True)
@pytest.mark.parametrize("content", [b"", b"[]", b'{"version": "x", "before": "", "by": "", "time": ""}', b"\xff"])
def test_an_entry_that_is_none_is_refused(options, exported, store, tmp_path, content):
    converge(options(path=str(exported), alias="production"), run_process, False)
    entry = tmp_path / "registry/models/llama/aliases/production/00000002.json"
    entry.write_bytes(content)
    with pytest.raises(GaudiError, match=r"00000002\.json is no entry of an alias; somebody else wrote it: "):
        converge(options(version="production"), run_process, False)
