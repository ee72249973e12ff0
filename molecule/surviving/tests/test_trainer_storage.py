# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in trainer where checkpoints go: a node's disk that is full, and S3-compatible storage that refuses.

One job is followed through all of it. Its storage is a real server on the controller's side of the nodes' network.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.s3_server import S3Server
from tests.sandbox_jobs import (
    HOSTS,
    NODES,
    launching,
    lines,
    play,
    podman,
    screen,
    shell,
    status,
    steps,
    wait_for,
    wait_for_members,
    wait_for_steps,
)
from tests.sandbox_nodes import SANDBOX, run
from tests.sandbox_trainer import (
    LOGS,
    checkpoint,
    checkpoints,
    damaged,
    losses_of,
    runs,
    trainer,
    wait_for_checkpoint,
)

# What the trainer does where storage refuses, tests/node_library/checkpoints says without nodes.
pytestmark = pytest.mark.long

NAME = "wednesday"
KEPT = "/var/tmp/wednesday"
DIRECTORY = f"{KEPT}/checkpoints"
BUCKET = "training"
# For far more checkpoints than are kept, until something else fills it.
DISK = "32m"
# docs/checkpoints.md: in which order three ranks' gradients are added up changes with a restart.
ROUNDING = 1e-6
PROGRAM = "/opt/gaudi3_scale/venv/bin/gaudi3_scale"
FULL = "[Errno 28] No space left on device"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A bucket, and on each node what uploads to it need."""
    stack = run(tmp_path_factory.mktemp("stack"), "venv", gaudi_venv_extras=["s3"])
    assert stack.status == "successful", stack.stdout.read()[-4000:]
    server = S3Server(shell("node1", "ip -4 route show default | cut -d ' ' -f 3").strip())
    server.client.create_bucket(Bucket=BUCKET)
    yield server
    server.close()


@pytest.fixture(scope="module")
def disks() -> Iterator[str]:
    """A file system of its own on node2, and a directory on the others."""
    for node in HOSTS:
        shell(node, f"install -d -o gaudi {KEPT}")
    # The nodes themselves may not mount anything.
    podman("exec", "--privileged", f"{SANDBOX}-node2", "mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", KEPT)
    yield KEPT
    podman("exec", "--privileged", f"{SANDBOX}-node2", "umount", "--lazy", KEPT)


@pytest.fixture(scope="module")
def followed(
    storage: S3Server, disks: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """The job's screen and the play that shows it."""
    directory = tmp_path_factory.mktemp("followed")
    play_of_job = launching(
        directory, **job(storage, gaudi_training_follow=True, gaudi_training_checkpoint_directory=disks)
    )
    try:
        wait_for_members(HOSTS, NAME)
        yield directory, play_of_job
    finally:
        play_of_job.kill()
        play_of_job.wait()


def job(storage: S3Server, **changes: Any) -> dict[str, Any]:
    kept = {"gaudi_training_spares": [], "gaudi_training_checkpoint_directory": KEPT}
    wanted = trainer(NAME, "--upload", f"s3://{BUCKET}/team", **{**kept, **changes})
    return {**wanted, "gaudi_training_environment": {**wanted["gaudi_training_environment"], **storage.environment()}}


def uploads(state: str) -> list[dict[str, Any]]:
    return [line for line in lines("node1", NAME) if line["kind"] == "upload" and line["state"] == state]


def failed() -> list[dict[str, Any]]:
    return [line for line in lines("node1", NAME) if line["kind"] == "checkpoint_failed"]


def fill() -> None:
    """Take what is left, as often as it takes: a checkpoint that was under way makes room when it is done."""
    shell("node2", f"dd if=/dev/zero bs=4k of={KEPT}/filler-$(date +%s%N) 2>/dev/null || true")


def test_a_full_disk_costs_a_checkpoint_and_no_more(followed: tuple[Path, subprocess.Popen[str]]) -> None:
    directory, controller = followed
    first = wait_for_checkpoint("node1", NAME)
    assert failed() == []
    wait_for("a checkpoint that failed", lambda: fill() or failed())
    trouble = failed()[0]
    assert (trouble["rank"], trouble["path"]) == (1, f"{DIRECTORY}/{checkpoint(trouble['step'])}")
    assert FULL in trouble["message"]
    wait_for("it is shown", lambda: f"checkpoint failed at step {trouble['step']}: " in screen(directory), 60)
    (shown,) = [line for line in screen(directory).splitlines() if f"failed at step {trouble['step']}: " in line]
    assert FULL in shown
    said = shell("node2", f"grep -rh 'no checkpoint of step {trouble['step']}:' {LOGS}/{NAME}/ranks")
    assert FULL in said
    assert "training continues, and the next one is tried." in said
    # Neither what was half-written nor the lack of it is taken for a checkpoint, and nothing older was removed for it.
    assert checkpoint(trouble["step"]) not in checkpoints("node2", DIRECTORY)
    assert checkpoints("node2", DIRECTORY)
    wait_for_steps("node1", NAME)
    shell("node2", f"rm {KEPT}/filler-*")
    room = steps("node1", NAME)[-1][0]
    made = wait_for_checkpoint("node1", NAME, above=room)
    wait_for("it is on node2", lambda: checkpoint(made) in checkpoints("node2", DIRECTORY), 60)
    assert damaged("node2", f"{DIRECTORY}/{checkpoint(made)}") == []
    assert made > trouble["step"] > first
    assert (status("node1", NAME)["restarts"], controller.poll()) == (0, None)


def test_storage_that_refuses_costs_nothing(followed: tuple[Path, subprocess.Popen[str]], storage: S3Server) -> None:
    directory, controller = followed
    wait_for("an upload", lambda: uploads("done"))
    with storage.refusing():
        before = len(uploads("retry"))
        wait_for("two refusals", lambda: len(uploads("retry")) >= before + 2)
        first, second = uploads("retry")[before : before + 2]
        between = [line["kind"] for line in lines("node1", NAME) if first["time"] <= line["time"] <= second["time"]]
        last = max(line["step"] for line in uploads("done"))
        wait_for_checkpoint("node1", NAME, above=steps("node1", NAME)[-1][0])
    assert "SlowDown" in first["message"] or "503" in first["message"]
    assert between.count("step") > 10
    wait_for("the upload after it", lambda: max(line["step"] for line in uploads("done")) > last)
    wait_for("it is shown", lambda: "state retry" in screen(directory), 60)
    assert (status("node1", NAME)["restarts"], controller.poll()) == (0, None)


def test_a_launch_goes_on_from_the_storage_where_no_node_has_a_checkpoint(
    followed: tuple[Path, subprocess.Popen[str]], storage: S3Server, tmp_path: Path
) -> None:
    """The last steps before it was stopped never got there: they are made again, with the same losses."""
    _directory, controller = followed
    with storage.refusing():
        wait_for_checkpoint("node1", NAME, above=steps("node1", NAME)[-1][0])
        code, said = play(tmp_path / "stop", "stop_training", gaudi_training_name=NAME)
        assert code == 0, said
    assert controller.wait(timeout=120) != 0
    before = losses_of(runs("node1", NAME)[-1])
    kept = max(name.split("/")[1] for name in storage.names(BUCKET) if name.endswith("/manifest.json"))
    assert kept < checkpoint(max(before))
    for node in NODES:
        shell(node, f"rm -rf {DIRECTORY}/* {DIRECTORY}/.step-*")
    code, said = play(tmp_path / "again", **job(storage))
    assert code == 0, said
    wait_for("it made the lost steps again", lambda: dict(steps("node1", NAME)).keys() >= {max(before)})
    again = runs("node1", NAME)[-1]
    assert checkpoint(again[0]["resumed_from"]) == kept
    same = {step: loss for step, loss in losses_of(again).items() if step <= max(before)}
    assert same == pytest.approx({step: loss for step, loss in before.items() if step > again[0]["step"]}, rel=ROUNDING)
    assert same
    code, said = play(tmp_path / "end", "stop_training", gaudi_training_name=NAME)
    assert code == 0, said


def test_tokens_in_the_storage_train_as_those_on_the_nodes(storage: S3Server, tmp_path: Path) -> None:
    prepared = f"{PROGRAM} data prepare --text /usr/share/common-licenses --out /var/tmp/friday"
    shell("node1", f"{prepared} && chmod a+r /var/tmp/friday.*")
    for suffix in ("bin", "idx", "manifest.json"):
        podman("cp", f"{SANDBOX}-node1:/var/tmp/friday.{suffix}", str(tmp_path / suffix))
        storage.client.upload_file(str(tmp_path / suffix), BUCKET, f"tokens/friday.{suffix}")
    losses = {}
    for name, data in (("from-bucket", f"s3://{BUCKET}/tokens/friday"), ("from-disk", "/var/tmp/friday")):
        given = trainer(name, gaudi_training_hosts=["node1"], gaudi_training_spares=[], gaudi_training_follow=True)
        given["gaudi_training_environment"] = {**given["gaudi_training_environment"], **storage.environment()}
        arguments = ["--metrics-every", "1", "--validation-batches", "0", "--loggers", "none"]
        limits = {"gaudi_training_max_steps": 20, "gaudi_training_arguments": arguments, "gaudi_training_text": []}
        code, said = play(tmp_path / name, **{**given, **limits, "gaudi_training_data": data})
        assert code == 0, said
        losses[name] = dict(steps("node1", name))
    assert losses["from-bucket"] == losses["from-disk"] != {}


def test_a_job_whose_last_state_is_nowhere_has_failed(disks: str, tmp_path: Path) -> None:
    # Of its own: it would go on from the other job's, which are beyond its last step.
    own = f"{disks}/thursday"
    shell("node2", f"install -d -o gaudi {own}")
    fill()
    # A launch asks whether a byte can be written, and no checkpoint is so small.
    shell("node2", f"truncate -s -8K $(ls -S {KEPT}/filler-* | head -n 1)")
    given = trainer("thursday", gaudi_training_hosts=["node2"], gaudi_training_spares=[], gaudi_training_follow=True)
    arguments = ["--validation-batches", "0", "--loggers", "none", "--checkpoint-every", "1000"]
    limits = {"gaudi_training_max_steps": 20, "gaudi_training_max_restarts": 0, "gaudi_training_arguments": arguments}
    try:
        code, said = play(tmp_path, **{**given, **limits, "gaudi_training_checkpoint_directory": own})
    finally:
        shell("node2", f"rm {KEPT}/filler-*")
    assert code != 0
    assert "no checkpoint of step 20, with which the training ended, could be written to" in said
    assert FULL in said
    assert status("node2", "thursday")["outcome"] == "failed"
