# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job over both nodes: the batch it takes, the loss it reaches, how it goes on, fails and ends.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ansible_runner
import pytest
import testinfra
from testinfra.host import Host

ROOT = Path(__file__).resolve().parents[3]
INVENTORY = ROOT / "inventories" / "sandbox"
SMALL = {
    "training_model": {"layers": 2, "width": 64, "heads": 2, "sequence_length": 64},
    "training_max_steps": 40,
    "training_follow_interval": 2,
    "probe_memory_limit": "120MiB",
    "probe_maximum": 256,
    "probe_multiple_of": 16,
}
ARGUMENTS = ["--learning-rate", "3e-3", "--warmup-steps", "5", "--metrics-every", "10", "--checkpoint-every", "20"]
CHECKPOINT = "/var/lib/gaudi3_scale/jobs/test/checkpoints/step-00000040.ckpt"
# Each rank learns who it is from torchrun; the last one of the second node fails, and the others wait for it.
FAILING = """
import os, time
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if int(os.environ["RANK"]) == 3:
    raise ValueError("the text of shard 7 is empty")
time.sleep(600)
"""


@dataclass(frozen=True)
class Played:
    """One run of a playbook: its status, how many results changed something, what was on the screen."""

    status: str
    changed: int
    screen: str
    messages: tuple[str, ...]


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    ssh_config = str(ROOT / ".config" / "molecule" / "ssh_config")
    hosts = testinfra.get_hosts(["ansible://gaudi"], ansible_inventory=str(INVENTORY), ssh_config=ssh_config, sudo=True)
    return {host.backend.hostname: host for host in hosts}


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    def run(playbook: str, **variables: object) -> Played:
        result = ansible_runner.run(
            private_data_dir=str(tmp_path),
            playbook=f"gaudi3.scale.{playbook}",
            inventory=str(INVENTORY),
            extravars={**SMALL, "gaudi_report_directory": str(tmp_path), **variables},
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "GAUDI_SANDBOX": os.environ["GAUDI_SANDBOX"],
                "PATH": os.environ["PATH"],
            },
            quiet=True,
        )
        failed = [event["event_data"]["res"] for event in result.events if event["event"] == "runner_on_failed"]
        changed = sum(result.stats["changed"].values())
        return Played(result.status, changed, result.stdout.read(), tuple(str(res.get("msg", "")) for res in failed))

    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def losses(report: Path) -> list[float]:
    (chart,) = json.loads(report.read_text())["charts"]
    return [loss for _step, loss in chart["points"]]


def ranks_left(node: Host) -> str:
    """The ranks and agents that run; the brackets keep pgrep's own command line out."""
    return node.run("pgrep -af '[t]orch.distributed|[g]audi3_scale.train|[f]ailing.py'").stdout


def test_the_job_takes_the_probed_batch_and_learns(
    play: Callable[..., Played], nodes: dict[str, Host], trained: Path
) -> None:
    probed = play("probe_batch_size")
    assert probed.status == "successful", probed.screen
    assert "out_of_memory" in probed.screen  # a real one: the limit was met, not only approached
    launched = play(
        "launch_training", training_name="test", training_arguments=ARGUMENTS, gaudi_report_directory=str(trained)
    )
    assert launched.status == "successful", launched.screen
    assert "step 40/40" in launched.screen
    curve = losses(trained / "training-test.json")
    assert curve[0] > 5
    assert curve[-1] < curve[0] - 1
    # Both nodes keep a copy, so that either may be lost.
    assert [node.file(CHECKPOINT).exists for node in nodes.values()] == [True, True]


def test_launching_it_again_starts_nothing(play: Callable[..., Played]) -> None:
    again = play("launch_training", training_name="test", training_arguments=ARGUMENTS)
    assert (again.status, again.changed) == ("successful", 0), again.screen


def test_the_last_checkpoint_goes_on_where_it_was(play: Callable[..., Played], trained: Path) -> None:
    arguments = [*ARGUMENTS, "--resume", CHECKPOINT]
    continued = play(
        "launch_training",
        training_name="test-continued",
        training_arguments=arguments,
        training_max_steps=50,
        gaudi_report_directory=str(trained),
    )
    assert continued.status == "successful", continued.screen
    before, after = losses(trained / "training-test.json"), losses(trained / "training-test-continued.json")
    assert abs(after[0] - before[-1]) < 0.3


def test_a_failing_rank_is_named_and_ends_all(play: Callable[..., Played], nodes: dict[str, Host]) -> None:
    for node in nodes.values():
        node.check_output(f"cat > /var/tmp/failing.py <<'END'{FAILING}END")
    failed = play("launch_training", training_name="failing", training_command=["/var/tmp/failing.py"])
    assert failed.status == "failed"
    (message,) = [text for text in failed.messages if "shard 7" in text]
    assert [
        word for word in ("node2", "rank 3", "ValueError", "the text of shard 7 is empty") if word not in message
    ] == []
    assert {name: ranks_left(node) for name, node in nodes.items()} == {"node1": "", "node2": ""}


def test_stopping_leaves_no_process(play: Callable[..., Played], nodes: dict[str, Host]) -> None:
    long_one = play("launch_training", training_name="long", training_max_steps=100000, training_follow=False)
    assert long_one.status == "successful", long_one.screen
    assert all(ranks_left(node) for node in nodes.values())
    assert play("stop_training", training_name="long").status == "successful"
    assert {name: ranks_left(node) for name, node in nodes.items()} == {"node1": "", "node2": ""}
