# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Launches that cannot go well: each node says in one sentence what it lacks, and nothing is started anywhere.

What is wrong with a description alone is in tests/unit/plugins/modules/test_training_job.py and
plugins/module_utils/_job/test_supervision.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import HOSTS, play, shell, variables
from tests.sandbox_nodes import fault

NAME = "monday"
KEPT = "/var/tmp/kept"
CLOCK = "$(python3 -m site --user-site)/usercustomize.py"
# Node by node: what is done to it, how that is undone, and what it is then refused for.
SICK = {
    "node1": (
        "systemd-run --quiet --unit other-server python3 -m http.server 29500 --bind 0.0.0.0; sleep 3",
        "systemctl stop other-server",
        "other-server.service); give this job another port, or stop what uses it.",
    ),
    "node2": (
        "mv /var/tmp/helping.py /var/tmp/helping.py.away",
        "mv /var/tmp/helping.py.away /var/tmp/helping.py",
        "helped.py cannot be imported: /opt/gaudi3_scale/venv has no module helping; install it there",
    ),
    "node3": (
        f"chown root {KEPT}",
        "true",
        f"node3: gaudi_training_checkpoint_directory {KEPT} cannot be written by operator on node3: Permission denied",
    ),
}
# A clock is the machine's and cannot be set in a container; what Ansible's Python reads of it can.
FAST = f"mkdir -p $(dirname {CLOCK}) && echo 'import time; now = time.time; time.time = lambda: now() + 300' > {CLOCK}"


@contextmanager
def done_to(node: str, harm: str, undo: str) -> Iterator[None]:
    shell(node, harm)
    try:
        yield
    finally:
        shell(node, undo)


def refused(directory: Path, **changes: Any) -> str:
    """What is on the screen of a launch that is refused, once it is sure that nothing was started."""
    code, said = play(directory, **{**variables(NAME), "gaudi_training_spares": [], **changes})
    assert code != 0
    assert "Traceback" not in said
    units = {node: shell(node, f"systemctl list-units --all --no-legend 'gaudi3-scale-job-{NAME}*'") for node in HOSTS}
    assert units == dict.fromkeys(HOSTS, "")
    return said


def test_every_node_is_looked_at_before_any_begins(tmp_path: Path) -> None:
    for node in HOSTS:
        shell(
            node, f"echo > /var/tmp/helping.py; echo import helping > /var/tmp/helped.py; install -d -o operator {KEPT}"
        )
    wishes = {
        "gaudi_training_checkpoint_directory": KEPT,
        "gaudi_training_user": "operator",
        "gaudi_training_command": ["/var/tmp/helped.py"],
    }
    first, second, third = (done_to(node, harm, undo) for node, (harm, undo, _said) in SICK.items())
    with first, second, third:
        screen = refused(tmp_path, **wishes)
    assert [said for _harm, _undo, said in SICK.values() if said not in screen] == []
    assert "Job monday was not started." in screen


@pytest.mark.in_turn
def test_a_clock_that_is_apart_is_named(tmp_path: Path) -> None:
    with done_to("node2", FAST, f"rm {CLOCK}"):
        assert "The clock of node2 is 5.0 minutes ahead of those of the other nodes" in refused(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gaudi_training_engine": "slurm"}, "node1: squeue is not installed on node1"),
        ({"gaudi_training_global_batch_size": 8}, "global_batch_size is 8, which 3 ranks cannot share evenly"),
    ],
    ids=["no Slurm", "batch"],
)
def test_it_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    assert said in refused(tmp_path, **changes)


@pytest.mark.in_turn
def test_a_text_that_is_nowhere_is_said_once(tmp_path: Path) -> None:
    wishes = {"gaudi_training_command": [], "gaudi_training_batch_size": 2, "gaudi_training_text": ["/data/text"]}
    said = refused(tmp_path, **wishes)
    reason = "gaudi_training_text: there is no /data/text on this node; copy it to every host of the job."
    assert f"Job monday was not started. node1, node2, node3: {reason}" in said
    assert said.count(reason) == 1


@pytest.mark.in_turn
def test_a_node_with_a_card_that_does_not_work_is_refused(tmp_path: Path) -> None:
    with fault("node3", "not_operational=3"):
        # These nodes have no flags, which is said first.
        vendors = {"GC_KERNEL_PATH": "/usr/lib/habanalabs/libtpc_kernels.so"}
        # Whole nodes: a job of fewer cards would take seven that work.
        whole = {"gaudi_training_processes_per_node": 8, "gaudi_training_device": "hpu"}
        said = refused(tmp_path, **whole, gaudi_training_environment=vendors)
    assert "node3 cannot take part: its cards are not all healthy" in said
