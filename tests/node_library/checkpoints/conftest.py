# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

from tests.s3_server import S3Server

BUCKET = "training"


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server of S3 with the bucket that these tests upload to."""
    server = S3Server("127.0.0.1")
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    server.client.create_bucket(Bucket=BUCKET)
    yield server
    # Servers of one process have one store.
    urllib.request.urlopen(urllib.request.Request(f"{server.url}/moto-api/reset", method="POST")).close()
    server.close()
