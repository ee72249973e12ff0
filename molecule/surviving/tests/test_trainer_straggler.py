# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node on which the built-in trainer is slow: it is named, and left out when the ranks start again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox_jobs import (
    HOSTS,
    NODES,
    SPARE,
    lines,
    play,
    processes,
    shell,
    wait_for,
    wait_for_members,
    wait_for_steps,
)
from tests.sandbox_trainer import slowed, trainer, trainer_of

NAME = "thursday"
# Ranks that share the cores of one machine differ by more than those of servers do.
RATIO = 2


# Who is slow is decided in tests without nodes too.
@pytest.mark.long
def test_a_slow_node_is_named_and_left_out_at_the_next_restart(tmp_path: Path) -> None:
    code, said = play(
        tmp_path, **trainer(NAME, gaudi_training_straggler_ratio=RATIO, gaudi_training_exclude_stragglers=True)
    )
    assert code == 0, said
    generation = wait_for_members(HOSTS, NAME)["generation"]
    wait_for_steps("node1", NAME)
    with slowed("node3", trainer_of("node3", NAME)):
        named = wait_for(
            "it is named",
            lambda: [event for event in lines("node1", NAME, "events.jsonl") if event["kind"] == "straggler"],
        )
        assert {event["host"] for event in named} == {"node3"}
        assert f"node3 needs more than {RATIO} times as long for its own work as the" in named[0]["text"]
        shell("node2", f"kill -KILL {trainer_of('node2', NAME)}")
        wait_for_members(["node1", "node2", SPARE], NAME, above=generation)
    wait_for_steps("node1", NAME)
    assert processes("node3", NAME) == {}
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
    assert {node: processes(node, NAME) for node in NODES} == {node: {} for node in NODES}
