# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Uploads to a real S3 server on loopback, a process of its own that is not there at first, and is ended in between."""

from __future__ import annotations

import argparse
import http.client
import shutil
import subprocess
import sys
import time

import boto3
import pytest

from gaudi3_scale.checkpoints import upload as checkpoint_upload
from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.bucket_url import s3_url, split
from gaudi3_scale.checkpoints.files import Retention, checkpoint_path, damage, found_in, manifest_of, set_aside
from gaudi3_scale.checkpoints.upload import Upload, next_step
from gaudi3_scale.core._errors import GaudiError
from job_runs import free_port, losses
from made_checkpoints import make

URL = "s3://training/team/llama"
KEY = bytes(range(32))


class Server:
    """moto's S3 over HTTP. What it holds is gone with its process, as it keeps all in memory."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/moto-api/")
                connection.getresponse().read()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        self.client.create_bucket(Bucket="training")

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    @property
    def client(self):
        return boto3.client("s3")

    def keys(self) -> list[str]:
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket="training").get("Contents", [])]


@pytest.fixture
def server(monkeypatch):
    made = Server()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{made.port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    yield made
    made.stop()


@pytest.fixture
def pauses(monkeypatch):
    monkeypatch.setattr(checkpoint_upload, "FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(checkpoint_upload, "LONGEST_PAUSE_SECONDS", 0.4)


@pytest.mark.parametrize("text", ["training", "s3://", "s3://UPPER/x", "https://training/x", "s3:///x"])
def test_another_place_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a place in S3; write it as s3://bucket/prefix"):
        s3_url(text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://training", ("training", "")),
        ("s3://training/", ("training", "")),
        ("s3://training/team/llama/", ("training", "team/llama/")),
    ],
)
def test_a_url_is_a_bucket_and_a_prefix(url, expected):
    assert split(s3_url(url)) == expected


@pytest.mark.parametrize(
    ("local", "remote", "every", "expected"),
    [
        ([], [], 0, None),
        ([10, 20, 30], [], 0, 30),
        ([10, 20, 30], [30], 0, None),
        ([10, 20, 30], [10], 0, 30),
        ([10, 20, 30, 40, 45], [45], 20, 40),
        ([20, 40, 45], [40, 45], 20, 20),
        ([20], [90], 0, None),
    ],
)
def test_the_newest_goes_first_then_those_kept_for_ever(local, remote, every, expected):
    assert next_step(local, remote, Retention(2, every)) == expected


def test_a_checkpoint_comes_back_as_it_went(server, tmp_path):
    server.start()
    bucket = Bucket(URL, KEY)
    path = make(tmp_path / "here", 100, content=bytes(range(256)) * 1000)
    assert bucket.upload(path) == manifest_of(path).bytes
    assert sorted(server.keys()) == [
        f"team/llama/step-00000100/{name}" for name in ("__0_0.distcp", "__1_0.distcp", "manifest.json")
    ]
    bucket.download(100, tmp_path / "there")
    back = checkpoint_path(tmp_path / "there", 100)
    assert manifest_of(back) == manifest_of(path)
    assert damage(back, manifest_of(back)) is None


def test_half_an_upload_is_no_checkpoint_and_damage_is_seen(server, tmp_path):
    server.start()
    bucket = Bucket(URL, KEY)
    for step in (100, 200, 300):
        bucket.upload(make(tmp_path / "here", step))
    prefix = "team/llama/step-00000"
    server.client.delete_object(Bucket="training", Key=f"{prefix}300/manifest.json")
    server.client.put_object(Bucket="training", Key=f"{prefix}200/__0_0.distcp", Body=b"weightS")
    assert bucket.steps() == [100, 200]
    with pytest.raises(ValueError, match=r"__0_0\.distcp did not arrive as it was sent"):
        bucket.download(200, tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []
    bucket.take_out(200)
    assert bucket.steps() == [100]


def test_the_same_are_kept_there(server, tmp_path):
    server.start()
    bucket = Bucket(URL, KEY)
    for step in (10, 20, 25, 30, 35):
        bucket.upload(make(tmp_path, step))
    server.client.delete_object(Bucket="training", Key="team/llama/step-00000025/manifest.json")
    server.client.put_object(Bucket="training", Key="team/llama/notes.txt", Body=b"not ours")
    bucket.remove_surplus(Retention(1, every=20))
    left = {key.split("/")[2] for key in server.keys()}  # noqa: SIM118
    assert left == {"step-00000020", "step-00000035", "notes.txt"}


def test_uploads_wait_for_a_server_that_refuses_and_then_go_on(server, pauses, tmp_path, caplog):
    upload = Upload(Bucket(URL, KEY), tmp_path, Retention(2))
    make(tmp_path, 100)
    upload.look()
    deadline = time.monotonic() + 60
    lines: list[dict] = []
    while len(lines) < 2:
        assert time.monotonic() < deadline
        lines += upload.lines()
        time.sleep(0.05)
    assert [line["state"] for line in lines[:2]] == ["retry", "retry"]
    assert lines[0]["retry_seconds"] < lines[1]["retry_seconds"]
    assert "Could not connect to the endpoint URL" in lines[0]["message"]
    assert "failed and is tried again" in caplog.text
    make(tmp_path, 200)
    upload.look()
    server.start()
    upload.finish(60)
    (done,) = [line for line in upload.lines() if line["state"] == "done"]
    assert (done["step"], done["url"], done["bytes"]) == (200, URL, 14)
    assert Bucket(URL, KEY).steps() == [200]


def test_a_job_that_ends_does_not_wait_for_ever(server, pauses, tmp_path, caplog):
    make(tmp_path, 100)
    upload = Upload(Bucket(URL, KEY), tmp_path, Retention(2))
    began = time.monotonic()
    upload.finish(1.0)
    assert time.monotonic() - began < 30
    assert upload.lines()[-1]["state"] == "left"
    assert f"what {tmp_path} has is not all in {URL} yet" in caplog.text


def test_a_job_goes_on_from_the_bucket_where_no_node_has_a_checkpoint(server, train_here, tmp_path):
    server.start()
    plan = ["--max-steps", 9, "--checkpoint-every", 3, "--upload", URL]
    whole = losses(train_here("--max-steps", 9, job="whole"))
    lines = train_here(*plan, "--stop-after-steps", 6)
    done = [line for line in lines if line["kind"] == "upload"]
    assert done[-1]["state"] == "done"
    assert done[-1]["step"] == 6
    checkpoints = tmp_path / "job" / "checkpoints"
    shutil.rmtree(checkpoints)
    lines = train_here(*plan)
    assert lines[0]["resumed_from"] == 6
    assert losses(lines) == {step: loss for step, loss in whole.items() if step > 6}
    assert sorted(found_in(checkpoints)[0]) == [6, 9]
    assert Bucket(URL, KEY).steps()[-1] == 9
    # The newest there is damaged: it is named and taken out, and the one before is gone on from.
    shutil.rmtree(checkpoints)
    server.client.put_object(Bucket="training", Key="team/llama/step-00000009/.metadata", Body=b"?")
    lines = train_here(*plan)
    left_out = lines[0]
    assert (left_out["kind"], left_out["step"], left_out["where"]) == ("checkpoint_left_out", 9, URL)
    assert ".metadata has 1 bytes instead of " in left_out["message"]
    assert lines[1]["resumed_from"] == 6
    assert Bucket(URL, KEY).steps()[-1] == 9


def test_a_bucket_that_does_not_answer(server, train_here, tmp_path, monkeypatch):
    monkeypatch.setattr("gaudi3_scale.checkpoints.callback.UPLOAD_SECONDS_AT_END", 0.5)
    plan = ["--max-steps", 4, "--checkpoint-every", 2, "--upload", URL]
    with pytest.raises(GaudiError, match=r"^--upload s3://.*: it is unknown whether it has a checkpoint to resume"):
        train_here(*plan)
    assert not list((tmp_path / "job" / "checkpoints").glob("step-*"))
    # What is on the node is enough to go on, and an upload that fails does not stop a training.
    train_here("--max-steps", 4, "--checkpoint-every", 2, "--stop-after-steps", 2)
    lines = train_here(*plan)
    assert lines[0]["resumed_from"] == 2
    kinds = [line["kind"] for line in lines]
    assert "end" in kinds
    assert [line["state"] for line in lines if line["kind"] == "upload"][-1] == "left"
    server.start()
    set_aside(checkpoint_path(tmp_path / "job" / "checkpoints", 2))
    monkeypatch.setattr("gaudi3_scale.checkpoints.callback.UPLOAD_SECONDS_AT_END", 60)
    lines = train_here(*plan)
    assert [line["kind"] for line in lines] == ["start", "end", "upload"]
    assert Bucket(URL, KEY).steps() == [4]


def test_an_environment_that_changes_while_it_is_read_is_read_again(server, tmp_path, monkeypatch):
    """Found by a busy machine: KeyError: 'WORLD_SIZE', which Lightning takes out of it as it ends."""
    server.start()
    make(tmp_path, 100)
    whole = boto3.client
    refused = iter([True])

    def client(*arguments, **options):
        if next(refused, False):
            raise KeyError("WORLD_SIZE")
        return whole(*arguments, **options)

    monkeypatch.setattr(boto3, "client", client)
    upload = Upload(Bucket(URL, KEY), tmp_path, Retention(2))
    upload.finish(60)
    assert [line["state"] for line in upload.lines()] == ["done"]


def test_whatever_fails_is_told_and_tried_again(server, pauses, tmp_path, monkeypatch):
    server.start()
    make(tmp_path, 100)
    steps = Bucket.steps
    failures = iter([RuntimeError("cannot start a thread")])

    def fails_once(bucket):
        if failure := next(failures, None):
            raise failure
        return steps(bucket)

    monkeypatch.setattr(Bucket, "steps", fails_once)
    upload = Upload(Bucket(URL, KEY), tmp_path, Retention(2))
    upload.finish(60)
    retry, done = upload.lines()
    assert (retry["state"], retry["message"]) == ("retry", "RuntimeError: cannot start a thread")
    assert (done["state"], done["step"]) == ("done", 100)
    assert Bucket(URL, KEY).steps() == [100]
