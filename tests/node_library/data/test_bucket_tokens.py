# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Training on tokens that lie in moto's S3: the same as on a local pair, and what is refused or waited for."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data import bucket_tokens
from gaudi3_scale.data.prepare import prepare
from gaudi3_scale.data.training_data import open_data
from job_runs import losses
from tests.s3_server import S3Server, bucket_served

BUCKET, URL = "tokens", "s3://tokens/books/en"


@pytest.fixture
def pair(tmp_path: Path, text: Path) -> Path:
    prefix = tmp_path / "en"
    prepare([text], prefix, "bytes", 1, 1 << 20, lambda *_: None)
    return prefix


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch, pair: Path) -> Iterator[S3Server]:
    with bucket_served(BUCKET) as server:
        server.put_into(monkeypatch)
        bucket_tokens._client_of.cache_clear()
        for name in ("bin", "idx", "manifest.json"):
            server.client.upload_file(f"{pair}.{name}", BUCKET, f"books/en.{name}")
        yield server


def test_a_job_trains_as_on_a_local_pair_and_goes_on_at_the_same_window(train_here, pair, storage):
    local = losses(train_here("--max-steps", 6, job="local", source=("--data", pair)))
    train_here("--max-steps", 6, "--stop-after-steps", 3, "--workers", 1, job="bucket", source=("--data", URL))
    # Of a pair and of its copy in a bucket: one training.
    streamed = losses(train_here("--max-steps", 6, job="bucket", source=("--data", URL)))
    assert streamed == {step: loss for step, loss in local.items() if step > 3}


def test_a_read_waits_for_storage_that_does_not_answer(storage):
    windows = open_data(None, URL, 32).windows
    waited = []

    def read() -> None:
        begun = time.monotonic()
        assert windows[[0, 1, 2]].shape == (3, 33)
        waited.append(time.monotonic() - begun)

    with storage.refusing():
        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(1)
        assert reader.is_alive()
    reader.join(30)
    assert waited and waited[0] > 1


def test_tokens_that_were_replaced_are_not_read(storage, pair):
    tokens = open_data(None, URL, 32).windows.tokens
    storage.client.put_object(Bucket=BUCKET, Key="books/en.bin", Body=b"x" * Path(f"{pair}.bin").stat().st_size)
    # A data loader's process has a copy.
    with pytest.raises(GaudiError, match=r"books/en\.bin: it was replaced during the training; put the old tokens"):
        pickle.loads(pickle.dumps(tokens))[0:8]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bin", None, "there is no s3://tokens/books/en.*; copy PREFIX.bin, PREFIX.idx and PREFIX.manifest.json"),
        ("manifest.json", None, "there is no s3://tokens/books/en.manifest.json; copy PREFIX.bin"),
        ("manifest.json", b"[]", "copy all three files there again"),
        ("idx", b"MMIDIDX", "does not begin as an index of Megatron-LM does .MMIDIDX.; copy all three files"),
        ("bin", b"too few", "there are 7 tokens instead of the [0-9]+ of its manifest.json; copy all three files"),
    ],
)
def test_what_is_no_whole_pair_is_refused_with_what_to_copy(storage, name, content, said):
    key = {"Bucket": BUCKET, "Key": f"books/en.{name}"}
    if content is None:
        storage.client.delete_object(**key)
    else:
        storage.client.put_object(**key, Body=content)
    with pytest.raises(GaudiError, match=f"^--data {URL}.*{said}"):
        open_data(None, URL, 32)
