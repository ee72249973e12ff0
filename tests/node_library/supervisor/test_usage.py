# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from gaudi3_scale.core._cards.hbm_use import held_by
from gaudi3_scale.core._node.commands import CommandResult
from gaudi3_scale.supervisor import usage as module
from gaudi3_scale.supervisor.usage import MOST_LINES, Usage

CARDS = "bus_id, module_id, memory.used, utilization.aip, power.draw\n0000:43:00.0, 1, 512 MiB, 50 %, 400 W\n"


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "usage.jsonl")


def test_lines_come_at_their_times_and_tell_the_cores_between_them(path):
    usage = Usage(path, "cpu", "", None)
    busy = time.process_time() + 0.3
    usage.look(1, 100.0)
    while time.process_time() < busy:
        pass
    for now in (100.1, 109.9, 110.0, 110.1):
        usage.look(1, now)
    first, second = lines(path)
    assert first["cores"] is None and first["generation"] == 1
    assert 0.01 < second["cores"] < 1
    assert second["memory_bytes"] > 1 << 20
    assert "cards" not in second


def test_cards_are_asked_in_a_thread_and_never_twice_at_once(path):
    opened, asked = threading.Event(), []

    def run(argv, *, timeout=None, env=None):
        asked.append(argv)
        opened.wait(10)
        return CommandResult(0, CARDS, "")

    usage = Usage(path, "hpu", "", run)
    for now in (0.0, 10.0, 20.0, 30.0, 40.0, 200.0):
        begun = time.monotonic()
        usage.look(1, now)
        assert time.monotonic() - begun < 5
    assert len(asked) == 1
    opened.set()
    usage._asking.join()
    usage.look(1, 210.0)
    usage._asking.join()
    usage.look(1, 220.0)
    cards = [line.get("cards") for line in lines(path)]
    assert cards == [*[None] * 6, *[{"utilization": [50], "memory_bytes": [512 << 20], "watts": [400]}] * 2]
    assert len(asked) == 2


def test_hl_smi_that_cannot_be_read_leaves_the_rest(path):
    def run(*_arguments, **_options):
        raise RuntimeError("broken")

    usage = Usage(path, "hpu", "", run)
    usage.look(1, 0.0)
    usage._asking.join()
    usage.look(1, 10.0)
    assert len(lines(path)) == 2


def test_the_file_keeps_its_length_and_its_whole_course(path, monkeypatch):
    monkeypatch.setattr(module, "descendants", lambda _pid: {})
    usage, now = Usage(path, "cpu", "", None), 0.0
    for number in range(3 * MOST_LINES):
        usage.look(number, now)
        now += usage._interval
    reported = [line["generation"] for line in lines(path)]
    assert MOST_LINES // 2 <= len(reported) <= MOST_LINES
    assert reported == sorted(reported) and reported[0] < 8 and reported[-1] == 3 * MOST_LINES - 1
    assert usage._interval > 10
    # A supervisor that is started again goes on with it.
    again = Usage(path, "cpu", "", None)
    again.look(99999, 0.0)
    after = [line["generation"] for line in lines(path)]
    assert (after[0], after[-1]) == (reported[0], 99999) and set(after) <= {*reported, 99999}


def test_a_full_disk_ends_nothing(tmp_path):
    usage = Usage(str(tmp_path / "none" / "usage.jsonl"), "cpu", "", None)
    usage.look(1, 0.0)


def test_what_ranks_hold_of_cards_is_told_by_synapse_s_own_file(path, tmp_path, monkeypatch):
    file = tmp_path / "mem_usage_accel2"
    file.write_bytes(struct.pack("<3Q", 1, 1_795_000_000, 5 << 30))
    monkeypatch.setattr(module, "held_by", partial(held_by, shared_memory=str(tmp_path)))
    usage = Usage(path, "hpu", "", lambda *_argv, **_more: CommandResult(0, CARDS, ""))
    program = f"import sys; kept = open({str(file)!r}, 'rb'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as rank:
        rank.stdout.readline()
        usage.look(1, 0.0)
        usage._asking.join()
        rank.stdin.close()
    usage.look(1, 40.0)
    assert lines(path)[-1]["cards"]["held_bytes"] == [5 << 30]
    usage._asking.join()
    usage.look(1, 80.0)
    assert "held_bytes" not in lines(path)[-1]["cards"]
