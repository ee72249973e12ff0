# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which node gets what, and what is set aside: nodes as values, of layouts that libraries write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gaudi3_scale.checkpoints.foreign_files import Found, Inventory
from gaudi3_scale.checkpoints.foreign_plan import checkpoint_of, plan

MINUTE = 60 * 10**9
NAMES = ["a", "b", "c"]


def of(files, turn=1, copies=()):
    """``files`` by path: written at that minute by the ranks that ran last, or a Found."""
    found = {
        path: about if isinstance(about, Found) else Found(10, about * MINUTE, fresh=True)
        for path, about in files.items()
    }
    folders = {path.rpartition("/")[0]: 7 for path in found if "/" in path}
    return Inventory(turn, found, folders, tuple(copies))


def node():
    return of({})


def old(minute):
    """Written before the ranks were last started."""
    return Found(10, minute * MINUTE)


def cut(minute):
    return Found(3, minute * MINUTE, fresh=True, wrong="it ends after 3 bytes")


def copied(*nodes):
    return {
        (copy.path, NAMES[copy.source], "".join(NAMES[to] for to in copy.receivers)) for copy in planned(nodes).copies
    }


def planned(nodes):
    return plan(nodes, NAMES)


def aside(*nodes):
    return [(one.path, "".join(NAMES[number] for number in one.nodes), one.used) for one in planned(nodes).set_aside]


TRANSFORMERS = ("model.safetensors", "optimizer.pt", "trainer_state.json")


def transformers(step, minute, *names, rank=0):
    return {f"checkpoint-{step}/{name}": minute for name in (*names, f"rng_state_{rank}.pth")}


def test_weights_of_rank_0_and_states_of_each_rank_make_one_checkpoint():
    a = of({**transformers(20, 1, *TRANSFORMERS), **transformers(40, 2, *TRANSFORMERS)})
    b = of({**transformers(20, 1, rank=1), **transformers(40, 2, rank=1)})
    assert copied(a, b) == {
        *((f"checkpoint-40/{name}", "a", "b") for name in (*TRANSFORMERS, "rng_state_0.pth")),
        ("checkpoint-40/rng_state_1.pth", "b", "a"),
    }
    assert aside(a, b) == []


def test_the_one_that_was_being_written_is_set_aside_on_all_and_the_one_before_is_used():
    a = of({**transformers(20, 1, *TRANSFORMERS), **transformers(40, 2, "model.safetensors")})
    b = of({**transformers(20, 1, rank=1), **transformers(40, 2, rank=1)})
    assert aside(a, b) == [("checkpoint-40", "ab", "checkpoint-20")]
    assert {path.split("/")[0] for path, _source, _to in copied(a, b)} == {"checkpoint-20"}
    (one,) = planned([a, b]).set_aside
    assert one.reason == "it has fewer files than checkpoint-20, which has optimizer.pt"


def test_a_rank_whose_part_is_missing_is_missed_where_as_many_ranks_ran():
    first = {f"step_{step}/shard_{rank}.pt": step for step in (10, 20) for rank in range(2)}
    a = of({path: minute for path, minute in first.items() if path != "step_20/shard_1.pt"})
    assert aside(a, node()) == [("step_20", "a", "step_10")]
    # With fewer ranks since then, they have written all that there is.
    shrunk = of({path: old(minute) if "step_10" in path else minute for path, minute in first.items()})
    less = {path: found for path, found in shrunk.files.items() if path != "step_20/shard_1.pt"}
    assert aside(replace(shrunk, files=less), node()) == []


def test_a_torn_file_of_the_newest_checkpoint():
    a = of({"step_10/model.pt": 1, "step_20/model.pt": cut(2)})
    assert aside(a, node()) == [("step_20", "a", "step_10")]
    assert planned([a, node()]).set_aside[0].reason == "step_20/model.pt on a: it ends after 3 bytes"
    assert copied(a, node()) == {("step_10/model.pt", "a", "b")}


def test_with_none_before_it_the_program_begins_anew():
    assert aside(of({"step_20/model.pt": cut(2)}), node()) == [("step_20", "a", "")]


def test_shards_of_all_nodes_go_to_all_nodes():
    a = of(
        {"step-5/.metadata": Found(9, MINUTE, True, needs=("__0_0.distcp", "__1_0.distcp")), "step-5/__0_0.distcp": 1}
    )
    b = of({"step-5/__1_0.distcp": 1})
    assert copied(a, b) == {
        ("step-5/.metadata", "a", "b"),
        ("step-5/__0_0.distcp", "a", "b"),
        ("step-5/__1_0.distcp", "b", "a"),
    }
    # The node that has them is gone for good, and so is all that only it had.
    assert aside(a, node()) == [("step-5", "a", "")]
    assert aside(node(), b) == [("step-5", "b", "")]


def test_a_file_that_is_written_over_goes_to_those_with_an_earlier_copy():
    a = of({"snapshot.pt": 9, "snapshot.partial": cut(9)})
    b = of({"snapshot.pt": old(3)}, copies=["snapshot.pt"])
    assert copied(a, b) == {("snapshot.pt", "a", "b")}
    assert aside(a, b) == [("snapshot.partial", "a", "")]


def test_each_node_keeps_what_its_own_ranks_wrote():
    a, b = of({"state_of_node.pt": 9, "step_1/local.pt": 9}), of({"state_of_node.pt": 8, "step_1/local.pt": 8})
    assert copied(a, b) == set()
    assert copied(a, b, node()) == {("state_of_node.pt", "a", "c"), ("step_1/local.pt", "a", "c")}


def test_a_node_that_was_away_gets_what_the_others_wrote_since_then():
    back = of({"last.ckpt": 5, "step_20/model.pt": 5}, turn=3)
    a, b = of({"last.ckpt": 9, "step_20/model.pt": 9}, turn=4), of({}, turn=4)
    assert copied(back, a, b) == {("last.ckpt", "b", "ac"), ("step_20/model.pt", "b", "ac")}


def test_what_only_a_node_has_that_was_away_is_used():
    back, other = of({"step_20/model.pt": 5}, turn=3), of({"step_10/model.pt": 4}, turn=4)
    assert copied(back, other) == {("step_20/model.pt", "a", "b")}


def test_nothing_is_to_be_done_where_all_is_everywhere():
    same = {"last.ckpt": old(5), "step_20/model.pt": old(5)}
    assert (copied(of(same), of(same)), aside(of(same), of(same))) == (set(), [])


def test_of_single_files_in_a_series_those_of_hours_ago_stay_where_they_are():
    a = of({"epoch=1-step=20.ckpt": 1, "epoch=9-step=180.ckpt": 100, "epoch=10-step=200.ckpt": 110, "last.ckpt": 111})
    assert {path for path, _a, _b in copied(a, node())} == {
        *("epoch=9-step=180.ckpt", "epoch=10-step=200.ckpt", "last.ckpt"),
    }


def test_the_one_that_was_written_last_goes_too_where_numbers_say_something_else():
    a = of({"loss=0.9-epoch=1/m.pt": 1, "loss=0.5-epoch=2/m.pt": 2})
    assert {path for path, _a, _b in copied(a, node())} == {"loss=0.9-epoch=1/m.pt", "loss=0.5-epoch=2/m.pt"}


def test_a_folder_of_checkpoints_is_never_set_aside():
    a = of({"run1/checkpoint-1/m.pt": 1, "run1/checkpoint-2/m.pt": cut(2)})
    assert aside(a, node()) == []


def test_copies_are_removed_once_their_original_is():
    a = of({"checkpoint-40/m.pt": 4, "checkpoint-40/rng_0.pth": 4})
    b = of({"checkpoint-20/m.pt": old(2), "checkpoint-20/rng_1.pth": old(2)}, copies=["checkpoint-20/m.pt"])
    assert planned([a, b]).removed == {1: ("checkpoint-20/m.pt",)}
    kept = replace(a, files={**a.files, "checkpoint-20/m.pt": old(2)})
    assert planned([kept, b]).removed == {}
    # It is the newest that there is.
    assert planned([node(), b]).removed == {}


def test_the_times_of_the_folders_that_are_wanted():
    a, b = of({"checkpoint-20/m.pt": 1, "checkpoint-40/m.pt": 2}), of({"checkpoint-40/n.pt": 2})
    assert planned([a, b]).times == {"checkpoint-40": 7}


@pytest.mark.parametrize(
    "path, checkpoint",
    [
        ("checkpoint-20/model.pt", "checkpoint-20"),
        ("checkpoint-20/pytorch_model_fsdp_0/.metadata", "checkpoint-20"),
        ("lightning_logs/version_0/checkpoints/x.ckpt", "lightning_logs/version_0"),
        ("last/model.pt", None),
        ("step-20.ckpt", None),
    ],
)
def test_what_a_file_is_part_of(path, checkpoint):
    assert checkpoint_of(path) == checkpoint
