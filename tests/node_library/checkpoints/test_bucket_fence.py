# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fence of a bucket: a node that was frozen has checkpoints, and a fence, of its own, and uploads from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.fence import MOST_BYTES, VARIABLE, FenceError, Generation, Holder, fence_text, read_fence
from gaudi3_scale.checkpoints.files import Retention
from gaudi3_scale.checkpoints.job_key import VARIABLE as KEY_VARIABLE
from gaudi3_scale.checkpoints.signature import opened_fence, signed_fence
from gaudi3_scale.checkpoints.upload import Upload
from gaudi3_scale.core._errors import GaudiError
from made_checkpoints import make
from tests.s3_server import S3Server

BUCKET, PREFIX = "training", "team/"
URL = f"s3://{BUCKET}/team"
KEY, OTHER_KEY = bytes(range(32)), bytes(32)
FIRST, SECOND = (Generation("0123456789abcdef", number) for number in (1, 2))
LATER_LAUNCH = Generation("fedcba9876543210", 1)
FENCE = {"Bucket": BUCKET, "Key": f"{PREFIX}fence.json"}


def bucket_of(generation: Generation | None) -> Bucket:
    return Bucket(URL, KEY, generation=generation)


def held(storage: S3Server) -> Holder:
    return read_fence(opened_fence(storage.client.get_object(**FENCE)["Body"].read(), KEY))


def seen(storage: S3Server) -> dict[str, tuple[str, str]]:
    found = storage.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return {entry["Key"]: (entry["ETag"], str(entry["LastModified"])) for entry in found}


@pytest.mark.parametrize("later", [SECOND, LATER_LAUNCH], ids=["generation", "launch"])
def test_an_old_generation_neither_uploads_nor_removes(storage, tmp_path, later):
    old, new = bucket_of(FIRST), bucket_of(later)
    for step in (10, 20):
        old.upload(make(tmp_path / "old", step))
    new.hold_fence()
    new.upload(make(tmp_path / "new", 30))
    before = seen(storage)
    refused = f"^{URL}/fence.json is held by {later}, so {FIRST} is over: it writes and removes nothing there.$"
    for act in (
        lambda: old.upload(make(tmp_path / "old", 30)),
        lambda: old.upload(make(tmp_path / "old", 40)),
        lambda: old.remove_surplus(Retention(1)),
        lambda: old.take_out(10),
        bucket_of(FIRST).hold_fence,
    ):
        with pytest.raises(FenceError, match=refused):
            act()
    assert seen(storage) == before
    new.remove_surplus(Retention(1))
    assert new.steps() == [30]
    assert held(storage).generation == later


def test_a_generation_that_begins_while_an_older_one_uploads_gets_no_manifest_of_it(storage, tmp_path, monkeypatch):
    """The old one is frozen between its files and the manifest."""
    old = bucket_of(FIRST)
    folder = make(tmp_path, 10)
    files = old._files

    def frozen():
        bucket_of(SECOND).hold_fence()
        return files()

    monkeypatch.setattr(old, "_files", frozen)
    with pytest.raises(FenceError, match="held by generation 2"):
        old.upload(folder)
    assert bucket_of(SECOND).steps() == []


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"{}",
        b"x" * (4 * MOST_BYTES),
        fence_text(Holder(SECOND)).encode(),
        signed_fence(fence_text(Holder(SECOND)), OTHER_KEY),
        signed_fence("{}", KEY),
        json.dumps({"fence": fence_text(Holder(SECOND)), "hmac_sha256": "é"}).encode(),
    ],
)
def test_what_this_jobs_key_did_not_sign_is_replaced(storage, caplog, content):
    """With or without it whoever may write the bucket can do no more than lose the job its copies."""
    storage.client.put_object(**FENCE, Body=content)
    bucket_of(FIRST).hold_fence()
    assert held(storage) == Holder(FIRST)
    assert f"{URL}/fence.json does not belong to a generation of this job: " in caplog.text


def test_a_fence_that_expired_is_taken_again(storage, tmp_path):
    bucket = bucket_of(FIRST)
    bucket.hold_fence()
    storage.client.delete_object(**FENCE)
    bucket.upload(make(tmp_path, 10))
    assert held(storage) == Holder(FIRST)


def test_without_a_generation_there_is_no_fence(storage, tmp_path):
    bucket_of(SECOND).hold_fence()
    storage.client.delete_object(**FENCE)
    bucket_of(None).upload(make(tmp_path, 10))
    assert f"{PREFIX}fence.json" not in seen(storage)


def test_uploads_of_an_old_generation_end_and_the_training_does_not_wait(storage, tmp_path, caplog):
    make(tmp_path, 10)
    upload = Upload(bucket_of(FIRST), tmp_path, Retention(2))
    upload.finish(60)
    upload = Upload(bucket_of(FIRST), tmp_path, Retention(2))
    bucket_of(SECOND).hold_fence()
    make(tmp_path, 20)
    upload.look()
    began = time.monotonic()
    upload.finish(60)
    upload.finish(60)
    assert time.monotonic() - began < 30
    (left,) = upload.lines()
    assert left["state"] == "left"
    assert "held by generation 2 of launch 0123456789abcdef" in left["message"]
    assert "Nothing more is uploaded." in caplog.text
    assert bucket_of(SECOND).steps() == [10]


def test_a_frozen_node_with_a_disk_of_its_own_does_not_begin(
    storage: S3Server, train_here: Callable[..., list[dict]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory knows of no later generation, and the bucket does."""
    plan = ["--max-steps", 2, "--checkpoint-every", 1, "--upload", URL]
    monkeypatch.setenv(KEY_VARIABLE, KEY.hex())
    monkeypatch.setenv(VARIABLE, f"{SECOND.launch}:{SECOND.number}")
    train_here(*plan)
    assert held(storage) == Holder(SECOND)
    before = seen(storage)
    monkeypatch.setenv(VARIABLE, f"{FIRST.launch}:{FIRST.number}")
    with pytest.raises(GaudiError, match=rf"^{URL}/fence\.json is held by generation 2 .* \(rank 0\)$"):
        train_here(*plan, job="other")
    assert not list((tmp_path / "other" / "checkpoints").glob("*step*"))
    assert seen(storage) == before
