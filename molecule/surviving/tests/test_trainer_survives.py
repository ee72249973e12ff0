# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in trainer through a lost node, an order to stop, a second launch, the loss of a node without a spare, and
the return of that node.

Nothing else touches its losses: in the end they are held against those of a run that nothing happened to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sandbox_jobs import (
    HOSTS,
    NODES,
    PATIENCE_S,
    SPARE,
    lines,
    play,
    processes,
    shell,
    start_node,
    status,
    steps,
    stop_node,
    wait_for,
    wait_for_members,
    wait_for_steps,
)
from tests.sandbox_trainer import (
    CHECKPOINT_EVERY,
    JOBS,
    LOGS,
    checkpoint,
    checkpoints,
    damaged,
    losses_of,
    runs,
    trainer,
    wait_for_checkpoint,
    wait_for_resumed,
)

# The same faults are test_surviving's, with a user's program; this trainer's own state is what tests/node_library asks.
pytestmark = pytest.mark.long

NAME, WHOLE = "tuesday", "tuesday-whole"
DIRECTORY = f"{JOBS}/{NAME}/checkpoints"
# docs/checkpoints.md: three ranks' gradients may be added up in another order after a restart.
ROUNDING = 1e-6
# And what another number of ranks may change.
TOLERANCE = 0.002
# So long a run with another number of ranks is held against the reference.
COMPARED = 60
UNIT = "gaudi3-scale-job-{}.service"
ACTIVE = "systemctl list-units --state=active --no-legend --plain 'gaudi3-scale-job-*'"
# No spare, and a node that is back is taken in soon.
FEWER = {"gaudi_training_spares": [], "gaudi_training_min_nodes": 2, "gaudi_training_grow_after": 5}


def test_a_spare_gets_the_newest_checkpoint_and_takes_the_place_of_a_dead_node(tmp_path: Path) -> None:
    code, said = play(tmp_path, **trainer(NAME))
    assert code == 0, said
    generation = wait_for_members(HOSTS, NAME)["generation"]
    wait_for_checkpoint("node1", NAME, above=CHECKPOINT_EVERY)
    assert processes(SPARE, NAME) == {}
    assert checkpoints(SPARE, DIRECTORY) == []
    stop_node("node2")
    wait_for_members(["node1", SPARE, "node3"], NAME, above=generation)
    resumed = wait_for_resumed("node1", NAME, after=1)
    # The ranks of node2 are gone with it: no step that it has not taken part in was made since.
    last = max(losses_of(runs("node1", NAME)[0]))
    assert resumed % CHECKPOINT_EVERY == 0
    # One is written in the background while the next steps are made.
    assert 0 <= last - resumed < 2 * CHECKPOINT_EVERY
    reported = shell(SPARE, f"grep -rh 'was copied from rank' {LOGS}/{NAME}/ranks")
    # Rank 2's copy may still have been under way when all were ended.
    assert re.search(
        rf"step {resumed} was copied from rank [02] to rank \[(0, )?1(, 2)?\], which did not have it\.", reported
    ), reported
    made = wait_for_checkpoint("node1", NAME, above=resumed)
    wait_for("it is on the spare", lambda: checkpoint(made) in checkpoints(SPARE, DIRECTORY), 30)
    assert damaged(SPARE, f"{DIRECTORY}/{checkpoint(made)}") == []
    start_node("node2")


def test_stopping_writes_a_checkpoint_where_it_stopped(tmp_path: Path) -> None:
    wait_for_steps("node1", NAME)
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
    assert {node: processes(node, NAME) for node in NODES} == {node: {} for node in NODES}
    stopped = lines("node1", NAME)[-1]
    assert (stopped["kind"], stopped["reason"]) == ("stopped", "SIGTERM")
    assert stopped["step"] == steps("node1", NAME)[-1][0]
    for node in ("node1", SPARE, "node3"):
        assert checkpoints(node, DIRECTORY)[-1] == checkpoint(stopped["step"])
        assert damaged(node, f"{DIRECTORY}/{checkpoint(stopped['step'])}") == []
    assert status("node1", NAME)["outcome"] == "stopped"


def test_a_second_launch_goes_on_from_there(tmp_path: Path) -> None:
    """node2 is back, and has only what there was when it died."""
    stopped = lines("node1", NAME)[-1]["step"]
    assert checkpoints("node2", DIRECTORY)[-1] < checkpoint(stopped)
    code, said = play(tmp_path, **trainer(NAME, **FEWER))
    assert code == 0, said
    wait_for_members(HOSTS, NAME)
    wait_for_steps("node1", NAME)
    start = next(line for line in lines("node1", NAME) if line["kind"] == "start")
    assert (start["resumed_from"], start["world_size"]) == (stopped, 3)
    assert damaged("node2", f"{DIRECTORY}/{checkpoint(stopped)}") == []
    wait_for_checkpoint("node1", NAME, above=stopped)


def test_without_a_spare_it_goes_on_with_fewer_nodes() -> None:
    generation = status("node1", NAME)["generation"]
    stop_node("node2")
    wait_for_members(["node1", "node3"], NAME, above=generation)
    resumed = wait_for_resumed("node1", NAME, after=1)
    wait_for(f"{COMPARED} steps", lambda: steps("node1", NAME)[-1][0] >= resumed + COMPARED)
    start = runs("node1", NAME)[-1][0]
    assert (start["world_size"], start["global_batch_size"], start["accumulate"]) == (2, 12, 3)
    said = [event["text"] for event in lines("node1", NAME, "events.jsonl")]
    assert "The job continues with 2 of 3 nodes." in said


def test_a_node_that_crashed_comes_back_by_itself_and_is_taken_in_again() -> None:
    before = status("node1", NAME)
    start_node("node2")
    after = wait_for_members(HOSTS, NAME, above=before["generation"])
    resumed = wait_for_resumed("node1", NAME, after=2)
    *_, of_two, of_three = runs("node1", NAME)
    # Its ranks were told to stop: no step is lost, and it counts as no failure.
    assert (of_two[-1]["kind"], of_two[-1]["step"]) == ("stopped", resumed)
    assert of_three[0]["world_size"] == 3
    assert after["restarts"] == before["restarts"]
    assert "The job has grown to 3 of 3 nodes." in [event["text"] for event in lines("node1", NAME, "events.jsonl")]
    wait_for_steps("node1", NAME)


def test_a_node_that_is_away_does_not_keep_the_others_from_being_stopped(tmp_path: Path) -> None:
    stop_node("node2")
    code, screen = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    # It is named.
    assert (code, "fatal: [node2]: UNREACHABLE!" in screen) == (4, True), screen
    assert {node: processes(node, NAME) for node in ("node1", "node3")} == {"node1": {}, "node3": {}}
    start_node("node2")
    # It comes back to a job that is over, has its vote still, and looks for the others until the same command ends it.
    wait_for("node2 looks for the others", lambda: status("node2", NAME)["state"] == "waiting")
    assert processes("node2", NAME) == {}
    code, screen = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, screen
    wait_for("node2 has an end of its own", lambda: status("node2", NAME)["outcome"])
    assert status("node2", NAME)["outcome"] == "stopped"
    wait_for("the unit has ended", lambda: UNIT.format(NAME) not in shell("node2", ACTIVE))


def test_the_losses_are_those_of_a_run_that_was_never_interrupted(tmp_path: Path) -> None:
    found = runs("node1", NAME)
    assert [run[0]["world_size"] for run in found[:5]] == [3, 3, 3, 2, 3]
    *of_three, of_two = found[:4]
    last = of_two[0]["step"] + COMPARED
    code, said = play(tmp_path, **trainer(WHOLE, "--stop-after-steps", str(last)))
    assert code == 0, said
    # It takes as long as all that was made above.
    wait_for("the reference has ended", lambda: status("node1", WHOLE)["outcome"], 2 * PATIENCE_S)
    assert status("node1", WHOLE)["outcome"] == "succeeded"
    (whole,) = map(losses_of, runs("node1", WHOLE))
    assert sorted(whole) == list(range(1, last + 1))
    assert {step: loss for step, loss in losses_of(of_three[0]).items() if loss != whole[step]} == {}
    # Also of the steps that were made twice.
    for run in of_three:
        made = {step: loss for step, loss in losses_of(run).items() if step <= last}
        assert made == pytest.approx({step: whole[step] for step in made}, rel=ROUNDING)
    made = {step: loss for run in of_three for step, loss in losses_of(run).items()}
    assert sorted(made) == list(range(1, max(made) + 1))
    with_fewer = {step: loss for step, loss in losses_of(of_two).items() if step <= last}
    assert len(with_fewer) == COMPARED
    assert with_fewer == pytest.approx({step: whole[step] for step in with_fewer}, rel=TOLERANCE)
    assert whole[last] < whole[1] - 0.1
