# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A kill for want of memory on a node whose unit has no count of its own: control groups of version 1 (a real one)."""

from __future__ import annotations

import subprocess
import sys

from gaudi3_scale.core._job.agent_table import AgentEntry
from gaudi3_scale.core._job.failure import rank_failure
from gaudi3_scale.core._node.process_tree import oom_kills_of_node
from gaudi3_scale.supervisor.memory_kills import NEAR_S, MemoryKills
from tests.unit.memory_group import TAKE, memory_group


def failed(exit_code):
    return rank_failure(AgentEntry(1, 1, exit_code, 1.0, wrote_error=False), None, "", "/log")


def kill_one():
    with memory_group() as group:
        script = 'echo $$ > "$1/cgroup.procs"; exec "$2" -c "$3"'
        words = ["/bin/sh", "-c", script, "sh", str(group), sys.executable, TAKE]
        assert subprocess.run(words, check=False).returncode == -9


def test_a_rank_that_was_killed_as_the_node_had_no_memory_left():
    kills = MemoryKills("")
    kills.begin(0.0)
    assert not kills.ended(failed(-9))
    before = oom_kills_of_node()
    kill_one()
    assert oom_kills_of_node() == before + 1
    assert kills.ended(failed(-9))
    # One of another program's: this rank ended otherwise.
    assert not kills.ended(failed(1)) and not kills.ended(failed(-11))


def test_a_kill_of_long_ago_is_none_of_a_rank_that_is_killed_now():
    kills = MemoryKills("")
    kills.begin(0.0)
    kill_one()
    kills.look(NEAR_S)
    assert kills.ended(failed(-9))
    kills.look(2 * NEAR_S)
    assert not kills.ended(failed(-9))
