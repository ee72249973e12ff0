# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whoever may write a job's bucket attacks the next run: none of it is run, written elsewhere or gone on from."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.core._errors import GaudiError
from job_runs import SMALL_MODEL, losses, read_lines
from tests.s3_server import S3Server

BUCKET = "training"
URL = f"s3://{BUCKET}/team"
PLAN = ["--max-steps", 6, "--checkpoint-every", 2, "--checkpoints-kept", 3, "--upload", URL]
MANIFEST = "team/step-00000004/manifest.json"


class Planted:
    """What it leaves behind says that a pickle was run."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self._mark),)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Where the first test that needs the stopped job keeps its files and the bucket's, for all others."""
    return tmp_path_factory.mktemp("stopped") / "job", {}


@pytest.fixture
def job(
    train_here: Callable[..., list[dict]], tmp_path: Path, storage: S3Server, stopped: tuple[Path, dict[str, bytes]]
) -> Path:
    """Stopped after step 4, its node's disk lost: what there is lies in the bucket."""
    folder, objects = stopped
    if objects:
        for key, content in objects.items():
            put(storage, key, content)
        return shutil.copytree(folder, tmp_path / "job")
    # Twice two steps: of one run's checkpoints those between may be left out, where they go up more slowly.
    for _ in range(2):
        train_here(*PLAN, "--stop-after-steps", 2)
    shutil.rmtree(tmp_path / "job" / "checkpoints")
    shutil.copytree(tmp_path / "job", folder)
    objects.update({key: get(storage, key) for key in storage.names(BUCKET)})
    return tmp_path / "job"


def get(storage: S3Server, key: str) -> bytes:
    content: bytes = storage.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    return content


def put(storage: S3Server, key: str, content: bytes) -> None:
    storage.client.put_object(Bucket=BUCKET, Key=key, Body=content)


def manifest(storage: S3Server) -> dict[str, Any]:
    """As anybody can read it, in its envelope or without."""
    reported = json.loads(get(storage, MANIFEST))
    bare: dict[str, Any] = json.loads(reported["manifest"]) if "manifest" in reported else reported
    return bare


def recorded(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def plant(storage: S3Server, name: str, content: bytes) -> None:
    """A file of the newest checkpoint, and a manifest that says that it has to be so."""
    reported = manifest(storage)
    reported["files"][name] = recorded(content)
    put(storage, f"team/step-00000004/{name}", content)
    put(storage, MANIFEST, json.dumps(reported).encode())


def in_place_of_the_progress(storage: S3Server, value: object) -> tuple[str, bytes]:
    """A data file in whose place for values that are no tensors another one lies."""
    metadata = pickle.loads(get(storage, "team/step-00000004/.metadata"))
    (place,) = [where for at, where in metadata.storage_data.items() if at.fqn == "progress"]
    packed = io.BytesIO()
    torch.save(value, packed)
    content = get(storage, f"team/step-00000004/{place.relative_path}")
    assert len(packed.getvalue()) <= place.length
    padded = packed.getvalue().ljust(place.length, b"\0")
    return place.relative_path, content[: place.offset] + padded + content[place.offset + place.length :]


ACCEPTING = [[], ["--accept-unsigned-checkpoints"]]


@pytest.mark.parametrize("accepting", ACCEPTING, ids=["by default", "where what is unsigned is accepted"])
@pytest.mark.parametrize("which", [".metadata", "a value", "the storage's own place"])
def test_no_pickle_of_theirs_is_run(job, storage, train_here, tmp_path, which, accepting):
    planted = Planted(tmp_path / "planted")
    if which == ".metadata":
        plant(storage, ".metadata", pickle.dumps(planted))
    elif which == "a value":
        # As large as what it takes the place of may be: stored, torch.save does not compress.
        plant(storage, *in_place_of_the_progress(storage, planted))
    else:
        metadata = pickle.loads(get(storage, "team/step-00000004/.metadata"))
        metadata.storage_meta.checkpoint_id = planted
        plant(storage, ".metadata", pickle.dumps(metadata))
    refused = (
        r"cannot be resumed from: (\.metadata: |a value in it is not plain data;)" if accepting else "not known to be"
    )
    with pytest.raises(GaudiError, match=refused):
        train_here(*PLAN, *accepting)
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize("accepting", ACCEPTING, ids=["by default", "where what is unsigned is accepted"])
@pytest.mark.parametrize("name", ["../../../escaped", "{outside}", "sub/../../../../escaped", "..", "a" * 300])
def test_nothing_is_written_elsewhere(job, storage, train_here, tmp_path, name, accepting):
    before = {path for path in tmp_path.rglob("*") if "checkpoints" not in path.parts}
    name = name.format(outside=tmp_path / "escaped")
    reported = manifest(storage)
    reported["files"][name] = recorded(b"planted")
    # The server keeps any key, as S3 does.
    put(storage, f"team/step-00000004/{name}", b"planted")
    put(storage, MANIFEST, json.dumps(reported).encode())
    if accepting:
        lines = train_here(*PLAN, *accepting)
        assert "not the name of a checkpoint file" in lines[0]["message"]
        assert lines[1]["resumed_from"] == 2
    else:
        with pytest.raises(GaudiError, match="not known to be of this job"):
            train_here(*PLAN)
        assert {path for path in tmp_path.rglob("*") if "checkpoints" not in path.parts} == before
    assert not list(tmp_path.parent.rglob("escaped"))


def without_signature(storage: S3Server, _tmp_path: Path) -> None:
    put(storage, MANIFEST, json.dumps(manifest(storage)).encode())


def another_text(storage: S3Server, _tmp_path: Path) -> None:
    reported = json.loads(get(storage, MANIFEST))
    put(
        storage,
        MANIFEST,
        json.dumps({**reported, "manifest": reported["manifest"].replace('"run"', '"run" ')}).encode(),
    )


def anothers_key(storage: S3Server, tmp_path: Path) -> None:
    (tmp_path / "job" / "checkpoint.key").write_text("ab" * 32)


def no_key(storage: S3Server, tmp_path: Path) -> None:
    (tmp_path / "job" / "checkpoint.key").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_signature, "manifest.json: it is not signed"),
        (another_text, "manifest.json: it is not signed with this job's key"),
        (anothers_key, "manifest.json: it is not signed with this job's key"),
        (no_key, "manifest.json: it is signed, and this job has no key"),
    ],
)
def test_what_the_jobs_key_did_not_sign_is_refused_and_stays(job, storage, train_here, tmp_path, change, said):
    change(storage, tmp_path)
    before = {key: get(storage, key) for key in storage.names(BUCKET)}
    with pytest.raises(GaudiError) as refused:
        train_here(*PLAN)
    assert str(refused.value) == (
        f"--upload {URL}: step 4 is not known to be of this job: {said}; give the job's key with --checkpoint-key-file "
        "or $GAUDI3_SCALE_CHECKPOINT_KEY, remove that step from the bucket, or accept it as it is with "
        "--accept-unsigned-checkpoints."
    )
    assert {key: get(storage, key) for key in storage.names(BUCKET)} == before
    assert not list((job / "checkpoints").iterdir())
    # A migration: the operator says that it is the job's.
    assert train_here(*PLAN, "--accept-unsigned-checkpoints")[0]["resumed_from"] == 4


def test_a_signed_manifest_of_another_step_is_none(job, storage, train_here):
    for key in storage.names(BUCKET):
        if key.startswith("team/step-00000002/"):
            put(storage, key.replace("step-00000002", "step-00000099"), get(storage, key))
    lines = train_here(*PLAN)
    assert (lines[0]["step"], lines[0]["message"]) == (99, "ValueError: manifest.json: it is of step 2")
    assert lines[1]["resumed_from"] == 4


def test_a_file_that_no_manifest_lists_is_refused(job, storage, train_here):
    put(storage, "team/step-00000004/__9_0.distcp", b"?")
    with pytest.raises(GaudiError, match=r"'__9_0.distcp' lies there, and manifest.json does not list it; "):
        train_here(*PLAN)


def test_what_is_larger_than_said_fills_no_disk(job, storage, train_here, tmp_path):
    name = next(name for name in manifest(storage)["files"] if name.endswith(".distcp"))
    put(storage, f"team/step-00000004/{name}", bytes(50 << 20))
    lines = train_here(*PLAN)
    assert f"{name} has {50 << 20} bytes instead of " in lines[0]["message"]
    assert lines[1]["resumed_from"] == 2


def two_nodes(storage: S3Server, tmp_path: Path, *options: object) -> list[dict]:
    """One rank on each, which share no directory; the metric lines of the run."""
    text = Path(__file__).parents[3] / "LICENSE"
    metrics = tmp_path / "first" / "metrics.jsonl"
    before = len(read_lines(metrics))
    nodes = [tmp_path / name for name in ("first", "second")]
    plan = ["--device", "cpu", *SMALL_MODEL, "--metrics-every", 1, "--text", text, *PLAN, *options]
    ends = ends_of(start_ranks(nodes, plan, variables=storage.environment()))
    assert ends == [0, 0], said_in(tmp_path)
    return read_lines(metrics)[before:]


def test_a_node_that_is_left_tells_the_key_to_one_that_replaced_another(tmp_path, storage):
    """The first node is replaced, and no node has a checkpoint: the second's key knows the bucket's."""
    whole = losses(two_nodes(storage, tmp_path / "whole"))
    for key in storage.names(BUCKET):
        storage.client.delete_object(Bucket=BUCKET, Key=key)
    two_nodes(storage, tmp_path, "--stop-after-steps", 4)
    keys = [tmp_path / name / "checkpoint.key" for name in ("first", "second")]
    reported = keys[0].read_text()
    assert [(path.read_text(), path.stat().st_mode & 0o777) for path in keys] == [(reported, 0o600)] * 2
    assert not [key for key in storage.names(BUCKET) if reported.strip().encode() in get(storage, key)]
    shutil.rmtree(tmp_path / "first")
    shutil.rmtree(tmp_path / "second" / "checkpoints")
    lines = two_nodes(storage, tmp_path)
    assert lines[0]["resumed_from"] == 4
    assert losses(lines) == {step: loss for step, loss in whole.items() if step > 4}
    assert keys[0].read_text() == reported


def test_another_cluster_goes_on_with_the_key_that_a_site_gave(storage, train_here, tmp_path, monkeypatch):
    monkeypatch.setenv("GAUDI3_SCALE_CHECKPOINT_KEY", "7c" * 32)
    train_here(*PLAN, "--stop-after-steps", 4)
    assert not (tmp_path / "job" / "checkpoint.key").exists()
    monkeypatch.delenv("GAUDI3_SCALE_CHECKPOINT_KEY")
    key = tmp_path / "given.key"
    key.write_text("7c" * 32 + "\n")
    key.chmod(0o600)
    assert train_here(*PLAN, "--checkpoint-key-file", key, job="elsewhere")[0]["resumed_from"] == 4
