# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own script, which tells no steps: it is started again like any other, and seen from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.podman import podman
from tests.sandbox_jobs import (
    launching,
    lines,
    play,
    processes,
    screen,
    shell,
    status,
    variables,
    wait_for,
)
from tests.sandbox_nodes import SANDBOX

NAME, SCRIPT, KEPT = "telling-nothing", "/var/tmp/telling_nothing.py", "/var/tmp/telling_nothing/last.pt"
NODES = ["node1", "node2"]
JOB = variables(
    NAME,
    gaudi_training_hosts=NODES,
    gaudi_training_spares=[],
    gaudi_training_command=[SCRIPT, "500"],
    gaudi_training_follow=True,
)


def begun(node: str) -> list[int]:
    """After which step each start of this node's rank went on."""
    said = shell(node, f"cat /var/log/gaudi3_scale/jobs/{NAME}/ranks/*/attempt_0/0/stdout.log 2>/dev/null || true")
    return sorted(int(line.split()[-1]) for line in said.splitlines() if " begins after step " in line)


# As the scenario programs does.
@pytest.mark.long
def test_a_plain_script_that_loses_a_rank_goes_on_from_its_checkpoint_and_ends_well(tmp_path: Path) -> None:
    for node in NODES:
        podman("cp", str(Path(__file__).with_name("telling_nothing.py")), f"{SANDBOX}-{node}:{SCRIPT}")
        shell(node, f"rm -rf {Path(KEPT).parent}")
    following = launching(tmp_path, **JOB)
    wait_for("a checkpoint", lambda: all(shell(node, f"ls {KEPT} 2>/dev/null || true") for node in NODES))
    wait_for("a line from outside", lambda: "process activity on node1" in screen(tmp_path))
    (rank,) = [number for number, command in processes("node2", NAME).items() if f" -u {SCRIPT}" in command]
    shell("node2", f"kill -KILL {rank}")
    wait_for("another start", lambda: len(begun("node1")) == 2)
    assert following.wait(timeout=600) == 0, screen(tmp_path)
    said, (first, second) = screen(tmp_path), begun("node1")
    assert (first, second % 10) == (0, 0) and second > 0
    assert "rank 1 on node2 failed first: killed by SIGKILL" in said
    assert (status("node1", NAME)["outcome"], status("node1", NAME)["restarts"]) == ("succeeded", 1)
    assert "the program reports no steps; process activity over " in said
    assert [line["generation"] for line in lines("node2", NAME, "usage.jsonl")][-1] == 2
    page = json.loads((tmp_path / f"reports/training-{NAME}.json").read_text(encoding="utf-8"))
    assert [chart["title"] for chart in page["charts"]] == ["Processor of each node", "Memory of each node's ranks"]
    assert {one["label"] for one in page["charts"][0]["series"]} == set(NODES)
    (log,) = [section for section in page["sections"] if section["title"].startswith("Last lines")]
    assert any("step 500 loss " in row["line"] for row in log["rows"])


@pytest.mark.long
def test_a_script_that_fails_twice_at_the_same_place_is_named_at_the_first_and_not_tried_again(tmp_path: Path) -> None:
    for node in NODES:
        shell(node, """echo 'raise ValueError("shard 7 is empty")' > /var/tmp/broken.py""")
    broken = {**JOB, "gaudi_training_name": "broken", "gaudi_training_command": ["/var/tmp/broken.py"]}
    code, said = play(tmp_path, **broken)
    assert code != 0
    assert status("node1", "broken")["restarts"] == 1
    first, again = (
        said.index("ValueError: shard 7 is empty"),
        said.index("and is tried again (3 times end the job, twice at the same place do, too)"),
    )
    assert first < again
    assert "it failed twice at the same place, ValueError in broken.py line 1 of rank " in said
    assert "In the user's code: broken.py, line 1, in <module>" in said
    assert "ValueError: shard 7 is empty" in said.rpartition("Job broken failed: ")[2]
