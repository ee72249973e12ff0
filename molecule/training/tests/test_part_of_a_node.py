# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two jobs of four cards on one node, side by side: what each has, and that the end of one is nothing to the other.

Their ranks open the devices of their simulated cards, as the vendor's bridge opens those of real ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_jobs import OPENS_ITS_CARD
from tests.sandbox_nodes import Played

NODE = "node1"
SCRIPT = "/var/tmp/part.py"
PROGRAM = f"""{OPENS_ITS_CARD}
import time
print("has", module, flush=True)
time.sleep(600)
"""


RANKS = r"""
for pid in $(pgrep -f '^[^ ]*/venv/bin/python -u {script}'); do
  tr '\0' '\n' < /proc/$pid/environ | grep -qx GAUDI3_SCALE_JOB={job} && echo "$pid"
done; true
"""


def has(node: Host, job: str) -> list[str]:
    """The modules that the ranks of a job have open, once there are four."""
    end = time.monotonic() + 120
    while True:
        found = node.run(f"grep -h '^has' /var/log/gaudi3_scale/jobs/{job}/ranks/*/attempt_0/*/stdout.log").stdout
        modules = sorted(line.split()[1] for line in found.splitlines())
        if len(modules) >= 4 or time.monotonic() > end:
            return modules
        time.sleep(0.5)


def ranks(node: Host, job: str) -> list[str]:
    """The processes of a job's ranks; the agent has the rank's command among its words, further back."""
    return node.check_output(RANKS.format(script=SCRIPT, job=job)).split()


def launch(play: Callable[..., Played], name: str, **variables: object) -> Played:
    return play(
        "launch_training",
        gaudi_training_name=name,
        gaudi_training_hosts=[NODE],
        gaudi_training_device="hpu",
        gaudi_training_command=[SCRIPT],
        gaudi_training_follow=False,
        gaudi_training_max_restarts=0,
        **{"gaudi_training_processes_per_node": 4, **variables},
    )


@pytest.fixture
def two_jobs(play: Callable[..., Played], nodes: dict[str, Host]) -> Iterator[Host]:
    node = nodes[NODE]
    node.check_output(f"cat > {SCRIPT} <<'END'{PROGRAM}END")
    try:
        for name in ("left", "right"):
            begun = launch(play, name)
            assert begun.status == "successful", begun.screen
        yield node
    finally:
        for name in ("left", "right", "third"):
            play("stop_training", gaudi_training_name=name, gaudi_training_hosts=[NODE])


def test_two_jobs_of_four_cards_share_a_node_and_one_ends_alone(
    play: Callable[..., Played], two_jobs: Host, tmp_path: Path
) -> None:
    assert (has(two_jobs, "left"), has(two_jobs, "right")) == (["0", "1", "2", "3"], ["4", "5", "6", "7"])
    # A second launch of what runs changes nothing, and a third job is told who has the cards.
    again = launch(play, "right")
    assert (again.status, again.changed) == ("successful", 0), again.screen
    refused = launch(play, "third", gaudi_training_processes_per_node=1)
    assert refused.status == "failed"
    (message,) = [text for text in refused.messages if "Job third was not started" in text]
    assert "modules 0 to 3 are held by job left, modules 4 to 7 are held by job right" in message
    # A rank of the one is killed. The other goes on, and the cards are free again.
    (first, *_others) = ranks(two_jobs, "left")
    before = ranks(two_jobs, "right")
    two_jobs.check_output(f"kill -KILL {first}")
    end = time.monotonic() + 120
    # Until its unit has ended, which comes after its ranks, the job has its cards.
    units = "systemctl list-units --no-legend --state=active,deactivating 'gaudi3-scale-job-left*'"
    while (ranks(two_jobs, "left") or two_jobs.check_output(units)) and time.monotonic() < end:
        time.sleep(0.5)
    assert (ranks(two_jobs, "left"), two_jobs.check_output(units)) == ([], "")
    assert (ranks(two_jobs, "right"), len(before)) == (before, 4)
    third = launch(play, "third")
    assert third.status == "successful", third.screen
    assert "It takes modules 0 to 3 on node1." in third.screen
    assert has(two_jobs, "third") == ["0", "1", "2", "3"]
    shown = play("show_training", gaudi_training_name="right", gaudi_training_hosts=[NODE])
    assert shown.status == "successful", shown.screen
    page = json.loads((tmp_path / "training-right.json").read_text())
    rows = next(section["rows"] for section in page["sections"] if section["title"] == "Configuration")
    assert {"option": "modules", "value": "4 5 6 7"} in rows
